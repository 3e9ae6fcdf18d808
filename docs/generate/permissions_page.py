"""The table of actions and roles, and the operations of each action, in `docs/explanation/permissions.md`."""

from tables import between

from api.authorization import ACTIONS
from core.access.policy import RULES, Action, Role


def permissions_page(text: str) -> str:
    """The page with both tables."""
    text = between("roles", _roles(), text)
    return between("operations", _operations(), text)


def _roles() -> str:
    head = f"| action | {' | '.join(Role)} | scopes | meaning |"
    rows = [
        f"| `{action}` | {' | '.join(_cell(action, role) for role in Role)} | {_scopes(action)} | {RULES[action].meaning} |"
        for action in Action
    ]
    return "\n".join([head, "|---" * (len(Role) + 3) + "|", *rows]) + "\n"


def _cell(action: Action, role: Role) -> str:
    rule = RULES[action]
    if rule.operators_only:
        return "operator"
    if role in rule.own & rule.others:
        return "yes"
    return "own" if role in rule.own else "no"


def _scopes(action: Action) -> str:
    return ", ".join(f"`{scope}`" for scope in sorted(RULES[action].scopes)) or "any"


def _operations() -> str:
    rows = [
        f"| `{action}` | {', '.join(f'`{name}`' for name, one in ACTIONS.items() if one is action)} |"
        for action in Action
    ]
    return "\n".join(["| action | operations |", "|---|---|", *rows]) + "\n"
