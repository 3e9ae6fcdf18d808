"""Texts that spell out special tokens: of the job's tokenizer, and of others that people's data was made with."""

import re
from collections.abc import Iterable

WELL_KNOWN = (
    "<|im_start|>", "<|im_end|>", "<|im_sep|>", "<|endoftext|>", "<|endofprompt|>", "<|end_of_text|>", "<|begin_of_text|>",
    "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", "<|python_tag|>", "<|system|>", "<|user|>",
    "<|assistant|>", "<|end|>", "<|pad|>", "<|eos|>", "<|bos|>", "<|unk|>", "<|sep|>", "<|startoftext|>", "<|channel|>",
    "<|message|>", "<|start|>", "<|return|>", "<|eot|>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>",
    "<start_of_turn>", "<end_of_turn>", "<s>", "</s>", "<eos>", "<bos>", "<pad>", "<unk>", "<mask>",
    "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "[gMASK]", "[EOS]", "[BOS]",
    "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>",
)  # fmt: skip
"""Of ChatML, Llama 2 and 3, Gemma, Phi, Mistral, GPT, BERT, Cohere, DeepSeek and their like."""
NESTED = 20
"""How deep within each other tokens are looked for (data/strips.py goes as deep, and keeps nothing that goes deeper)."""
_SHORTEST = 3
"""A special token of two signs is more likely a text that happens to be in it."""


def pattern(of_model: Iterable[str] = ()) -> re.Pattern[str]:
    """What matches any of them; of two that begin alike the longer one."""
    tokens = {token for token in (*WELL_KNOWN, *of_model) if len(token) >= _SHORTEST}
    return re.compile("|".join(re.escape(token) for token in sorted(tokens, key=lambda token: (-len(token), token))))


def spelt(text: str, special: re.Pattern[str]) -> set[str]:
    """Those in the text, and those that come together once these are taken out."""
    found: set[str] = set()
    for _ in range(NESTED):
        seen = set(special.findall(text))
        if not seen:
            break
        found |= seen
        text = special.sub("", text)
    return found
