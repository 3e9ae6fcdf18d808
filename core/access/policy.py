"""Who may do what: the actions of the API, the roles that allow them, and the scopes that limit a key to some of them.

`RULES` is the only place that decides. `api.authorization` has the action of each route, and docs/reference/permissions.md is made
from both. A role has no meaning in other projects: their objects do not exist for a caller.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.models.access import Role

VIEWER, ANNOTATOR, MEMBER, ADMIN = Role.VIEWER, Role.ANNOTATOR, Role.MEMBER, Role.ADMIN
EVERYONE = frozenset(Role)


class Scope(StrEnum):
    """A part of what a role allows, to which a key can be limited."""

    READ = "read"
    ANNOTATE = "annotate"
    SUBMIT = "submit"
    MANAGE = "manage"


class Action(StrEnum):
    """The kind of a request."""

    ACCOUNT = "account"
    READ = "read"
    READ_ROUNDS = "read_rounds"
    ANNOTATE = "annotate"
    SUBMIT = "submit"
    CHANGE = "change"
    READ_WEBHOOKS = "read_webhooks"
    KEYS = "keys"
    MANAGE = "manage"
    AUDIT = "audit"
    OPERATE = "operate"


@dataclass(frozen=True)
class Rule:
    """The roles that allow an action, and the scopes of which a limited key needs one."""

    meaning: str
    """For people: what the action comprises."""
    own: frozenset[Role]
    """Roles that allow it for an object that the caller made, and for an action without an object."""
    others: frozenset[Role]
    """Roles that allow it for an object that another member made, or that has no known maker."""
    scopes: frozenset[Scope]
    """Empty: every key will do."""
    operators_only: bool = False
    """Whether it takes an operator's key besides. Such a key is apart from all roles."""


def _rule(meaning: str, own: frozenset[Role], *scopes: Scope, others: frozenset[Role] | None = None) -> Rule:
    return Rule(meaning, own, own if others is None else others, frozenset(scopes))


_WORK = frozenset({MEMBER, ADMIN})
RULES: Mapping[Action, Rule] = {
    Action.ACCOUNT: _rule(
        "See and end one's own session, and read the layout of the dashboard and the reference: schema, presets, formats, limits.",
        EVERYONE,
    ),
    Action.READ: _rule(
        "Read jobs, datasets, uploads, checkpoints, results of rounds, workers and members, and follow their events.",
        EVERYONE - {ANNOTATOR},
        Scope.READ,
    ),
    Action.READ_ROUNDS: _rule("Read annotation rounds and their progress.", EVERYONE, Scope.READ, Scope.ANNOTATE),
    Action.ANNOTATE: _rule("Answer items of annotation rounds.", _WORK | {ANNOTATOR}, Scope.ANNOTATE),
    Action.SUBMIT: _rule(
        "Make jobs, datasets, uploads, rounds, groups, templates, reports and notes, and arrange the dashboard, which all members share.",
        _WORK,
        Scope.SUBMIT,
    ),
    Action.CHANGE: _rule("Change, stop and delete them.", _WORK, Scope.SUBMIT, others=frozenset({ADMIN})),
    Action.READ_WEBHOOKS: _rule("Read webhooks and their deliveries.", _WORK, Scope.READ, Scope.MANAGE),
    Action.KEYS: _rule("List, make and revoke API keys.", EVERYONE, Scope.MANAGE, others=frozenset({ADMIN})),
    Action.MANAGE: _rule(
        "Add, change and remove members and webhooks, and rename the project.", frozenset({ADMIN}), Scope.MANAGE
    ),
    Action.AUDIT: _rule("Read, export and verify the audit log.", frozenset({ADMIN}), Scope.MANAGE),
    Action.OPERATE: Rule(
        "Cordon and drain workers, let workers join, see the use and the jobs of all projects, and set their limits.",
        EVERYONE,
        EVERYONE,
        frozenset({Scope.MANAGE}),
        operators_only=True,
    ),
}


def distinguishes(action: Action) -> bool:
    """Whether it matters who made the object of the action."""
    return RULES[action].own != RULES[action].others


def roles_for(action: Action, *, own: bool = False) -> frozenset[Role]:
    """The roles that allow an action. `own`: for an object that the caller made, or without an object."""
    return RULES[action].own if own else RULES[action].others


def refusal(action: Action, role: Role, scopes: frozenset[Scope] | None, operator: bool, *, own: bool) -> str | None:
    """Why a caller may not act, as a sentence for people; None if it may.

    `scopes`: those of the caller's key; None without a limit. `own`: the caller made the object, or the action has none.
    """
    rule = RULES[action]
    allowed = roles_for(action, own=own)
    if role not in allowed:
        needed = _either(sorted(allowed, key=list(Role).index))
        whose = " to what another member made" if not own and role in rule.own else ""
        return (
            f"Your role in this project is `{role}`. This request{whose} needs {needed}. Ask an admin of the project."
        )
    if scopes is not None and rule.scopes and not scopes & rule.scopes:
        needed = _either(sorted(rule.scopes))
        return f"This key is limited to the scopes {_list(scopes)}. This request needs {needed}. Use another key."
    if rule.operators_only and not operator:
        return "This key may not change workers. Use the key of `proximal up`, or one made with `python -m core keys create --operator`."
    return None


def _either(names: list[Role] | list[Scope]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def _list(scopes: frozenset[Scope]) -> str:
    return ", ".join(f"`{scope}`" for scope in sorted(scopes))
