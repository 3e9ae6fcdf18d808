"""Whether tokenizers and models belong together."""

from trainer.text.codec import Tokenizer


def same_vocabulary(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether the same ids mean the same tokens, the EOS among them."""
    return bool(one.eos_token_id == other.eos_token_id and one.get_vocab() == other.get_vocab())


def ids_of(tokenizer: Tokenizer) -> int:
    """How many ids a model needs for every token: more than there are tokens, where the ids have gaps."""
    return max(len(tokenizer), 1 + max(map(int, tokenizer.get_vocab().values())))
