"""Completions token by token, for people who want to see where the reward came from and what the update did with it.

Shapes: B responses, R response positions.
"""

from trainer.events import TokenRow, finite
from trainer.ppo.experience import Experience
from trainer.ppo.update import Updated
from trainer.spec import PPOSpec
from trainer.text.codec import Tokenizer

_BROKEN = "\N{REPLACEMENT CHARACTER}"


def token_tables(
    experience: Experience, updated: Updated, tokenizer: Tokenizer, spec: PPOSpec, iteration: int
) -> list[list[TokenRow]]:
    """One table for each of the first `log_token_tables` responses, a row per token."""
    warming_up = spec.uses_critic and iteration < spec.critic.warmup_steps
    scored = experience.scored
    columns = {
        "logprob": scored.logprobs_BR,
        "reference_logprob": scored.reference_logprobs_BR,
        "kl": scored.kl_BR,
        "value": experience.values_BR,
        "advantage": experience.advantages_BR,
        "reward": experience.rewards_BR,
        "clipped": None if warming_up or spec.policy_loss.kind != "clipped" else updated.clipped_BR,
    }
    tables = []
    for row, response in enumerate(scored.responses[: spec.log_token_tables]):
        numbers = {name: values_BR[row].tolist() for name, values_BR in columns.items() if values_BR is not None}
        texts = token_texts(tokenizer, response.ids)
        tables.append([_row(text, numbers, position) for position, text in enumerate(texts)])
    return tables


def _row(text: str, numbers: dict[str, list[float]], position: int) -> TokenRow:
    return TokenRow.model_validate(
        {"text": text} | finite({name: values[position] for name, values in numbers.items()})
    )


def token_texts(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    """What each token adds to the text; the vocabulary's own name for one that is only a part of a character."""
    texts, before = [], ""
    for end, token in enumerate(ids, 1):
        text = tokenizer.decode(ids[:end], skip_special_tokens=False, clean_up_tokenization_spaces=False)
        added = text[len(before) :] if text.startswith(before) else ""
        if not added or _BROKEN in added:
            added = tokenizer.convert_ids_to_tokens(token) or f"<{token}>"
        texts.append(added)
        before = text
    return texts
