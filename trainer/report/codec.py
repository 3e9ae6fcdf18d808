"""The job's tokenizer and template. Imports torch: only where a report is asked for a model."""

from trainer.errors import ModelError
from trainer.models.loading import load_tokenizer
from trainer.report.scanned import CodecFacts
from trainer.report.settings import ReportSettings
from trainer.text.codec import Codec


def codec_of(settings: ReportSettings) -> Codec | None:
    """As the job would have it; None where its tokenizer names no EOS. Raises ModelError when it cannot be loaded."""
    assert settings.model is not None
    tokenizer = load_tokenizer(settings.model)
    try:
        return Codec.of(tokenizer, settings.data)
    except ModelError:
        if tokenizer.eos_token_id is None:
            return None
        raise


def facts_of(codec: Codec | None) -> CodecFacts:
    """What the report has to know of it."""
    if codec is None:
        return CodecFacts(has_eos=False)
    tokenizer = codec.tokenizer
    special = frozenset(str(token) for token in tokenizer.all_special_tokens)
    added = frozenset(str(token) for token in tokenizer.added_tokens_decoder.values() if token.special)
    return CodecFacts(
        special_tokens=special | added,
        eos=str(tokenizer.eos_token),
        closing=codec.closing_token(),
        templated=codec.use_chat_template,
    )
