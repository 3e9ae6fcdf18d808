"""Removes secrets from the console output of jobs and from error messages, before they are stored.

Three rules apply: the values of environment variables whose names look secret, values that follow a secret-looking name, and
tokens in the format of a known provider. The formats follow the providers' documentation. docs/decisions/0018 gives the
reason for a list of our own. A rule masks too much rather than too little, and no rule looks beyond the end of a line, except
for private keys.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

MASK = "[masked]"
_SHORTEST_VALUE = 8
"""Shorter values of environment variables are not masked by value, because they occur in ordinary text."""

_SECRET_WORDS = (
    "TOKEN|PAT|SECRET|SECRETS|PASSWORD|PASSWD|PASS|PASSPHRASE|CREDENTIAL|CREDENTIALS|KEY|APIKEY|SIGNATURE|DSN|AUTH"
)
_SECRET_VARIABLE = re.compile(rf"(?:^|_)(?:{_SECRET_WORDS})(?:_|$)")
_NOT_A_SECRET = re.compile(r"true|false|none|null|[\d.]*", re.IGNORECASE)

# A value that an earlier rule has masked stays as it is.
_VALUE = r"""(?:\[masked\]|"[^"\n]*"|'[^'\n]*'|[^\s,;&}\])'"]+)"""
_TO_END_OF_TEXT = r"""[^'"\n]+"""
_SEPARATOR = r"""['"]?\s{0,3}[:=]\s{0,3}(?:b(?=['"]))?"""

# A name in capitals, as of environment variables: HF_TOKEN=…, 'AWS_SECRET_ACCESS_KEY': '…'.
_VARIABLE = (
    r"(?<![A-Za-z0-9_])(?:[A-Z0-9]+_)*(?:PG)?"
    r"(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET_?KEY|AUTH_?KEY|CREDENTIALS?)"
    r"(?:_[A-Z0-9]+)*(?![A-Za-z0-9_])"
)
# `token` alone is left out: a trainer prints `pad_token` and the like.
_FIELD = (
    r"(?i:(?<![a-z0-9_-])(?:--)?(?:[a-z0-9]+[_-])*"
    r"(?:password|passwd|passphrase|secret|api[ _-]?key|secret[_-]?(?:access[_-]?)?key|private[_-]?key|"
    r"(?:access|auth|bearer|refresh|hf|hub|id|session|security)[_-]?token|access[_-]?key|client[_-]?secret)"
    r"(?![a-z0-9]))"
)
_QUERY = (
    r"(?i:[?&;](?:token|access_token|id_token|api_?key|key|sig|signature|password|code|auth|"
    r"x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential))=)"
)
_HEADER = r"(?i:(?<![a-z0-9])(?:(?:proxy-)?authorization|x-api-key|x-auth-token|(?:set-)?cookie)['\"]?\s{0,3}[:=,]\s{0,3}(?:b(?=['\"]))?['\"]?)"
# An option of a command, whose value follows a space.
_OPTION = r"(?i:(?<![a-z0-9_-])(--(?:[a-z0-9]+-)*(?:password|passwd|passphrase|secret|token|(?:api|access|secret)-?key)\s{1,3}))"
_BEARER = r"(?i:(?<![a-z])(bearer:?\s{1,3}))(?:(?=[A-Za-z._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{8,}|[A-Za-z0-9._~+/=-]{12,})"
# The credentials of HTTP's Basic are base64, so an ordinary word after "basic", all in small letters, stays.
_BASIC = r"(?i:(?<![a-z])(basic\s{1,3}))"
# `token` alone, with a value of at least 8 characters that holds a digit: not `token: <pad>`, and not `token: 512`. One in
# quotes, as in JSON, needs no digit, and one of 20 characters nothing.
_TOKEN = r"(?i:(?<![a-z0-9_-])((?:x-)?token['\"]?\s{0,3}[:=]\s{0,3}['\"]?))"
_LONG_VALUE = (
    r"(?:(?=[^\s,;&}\])'\"]*[0-9])(?=[^\s,;&}\])'\"]*[A-Za-z])[A-Za-z0-9._~+/=-]{8,}"
    r"|(?<=['\"])[A-Za-z0-9._~+/=-]{8,}(?=['\"])|[A-Za-z0-9._~+/=-]{20,})"
)
_FORMATS = (
    r"hf_[A-Za-z0-9]{8,}",  # Hugging Face; test tokens are short
    r"api_org_[A-Za-z0-9]{20,}",
    r"prx_[a-z2-7]{16,}",  # the platform's own keys
    r"(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}",  # AWS
    r"gh[pousr]_[A-Za-z0-9]{30,}",  # GitHub
    r"github_pat_[A-Za-z0-9_]{30,}",
    r"glpat-[A-Za-z0-9_-]{20,}",  # GitLab
    r"sk-[A-Za-z0-9_-]{20,}",  # OpenAI, Anthropic and others
    r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
    r"AIza[A-Za-z0-9_-]{35}",  # Google
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",  # Slack
    r"wandb_v\d_[A-Za-z0-9_]{20,}",  # Weights & Biases
    r"nvapi-[A-Za-z0-9_-]{20,}",  # NVIDIA
    r"dapi[0-9a-f]{32}",  # Databricks
    r"r8_[A-Za-z0-9]{30,}",  # Replicate
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"dckr_pat_[A-Za-z0-9_-]{20,}",  # Docker
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON web tokens
)
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"({_HEADER}){_TO_END_OF_TEXT}"), rf"\1{MASK}"),
    (re.compile(r"://([^\s/?#@:'\"]*):[^\s/'\"]+@"), rf"://\1:{MASK}@"),
    (re.compile(r"://[^\s/?#@:'\"]{20,}@"), f"://{MASK}@"),
    (re.compile(rf"({_QUERY})[^&\s'\"]+"), rf"\1{MASK}"),
    (re.compile(rf"({_VARIABLE}{_SEPARATOR}){_VALUE}"), rf"\1{MASK}"),
    (re.compile(rf"({_FIELD}{_SEPARATOR}){_VALUE}"), rf"\1{MASK}"),
    (re.compile(rf"{_OPTION}{_VALUE}"), rf"\1{MASK}"),
    (re.compile(_BEARER), rf"\1{MASK}"),
    (re.compile(r"(?i:(?<![a-z])(token\s{1,3}))[0-9a-f]{32,}(?![0-9A-Za-z])"), rf"\1{MASK}"),
    (re.compile(rf"{_BASIC}(?=[A-Za-z0-9+/]*[A-Z0-9+/=])[A-Za-z0-9+/]{{6,}}={{0,2}}(?![A-Za-z0-9+/=])"), rf"\1{MASK}"),
    (re.compile(rf"{_TOKEN}{_LONG_VALUE}"), rf"\1{MASK}"),
    (re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_FORMATS)})"), MASK),
)
_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
_MOST_KEY_LINES = 200


class Masker:
    """Masks secrets in texts. `environment`: variables whose secret-looking values are masked wherever they occur."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        values = sorted(set(_secret_values(environment)), key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, values))) if values else None

    def mask(self, text: str) -> str:
        """The text with `[masked]` in place of secrets. A private key that has no end is masked to the end of the text."""
        return PrivateKeyMasker().mask(self.mask_lines(text))

    def mask_lines(self, text: str) -> str:
        """The text without secrets, except private keys, which are left for a PrivateKeyMasker."""
        if self._values is not None:
            text = self._values.sub(MASK, text)
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
        return text


class PrivateKeyMasker:
    """Masks PEM private keys in a text that arrives in pieces of whole lines. One for each stream."""

    def __init__(self) -> None:
        self._lines_left = 0

    def mask(self, text: str) -> str:
        """The next piece, with one `[masked]` in place of each key or part of a key."""
        if not self._lines_left and "PRIVATE KEY" not in text:
            return text
        return "\n".join(self._kept(text.split("\n")))

    def _kept(self, lines: list[str]) -> Iterator[str]:
        for line in lines:
            if self._lines_left:
                self._lines_left = 0 if _KEY_END.search(line) else self._lines_left - 1
                continue
            begin = _KEY_BEGIN.search(line)
            if begin is None:
                yield line
                continue
            # A key that is printed as one line has its end there, often after escaped line ends.
            end = _KEY_END.search(line, begin.end())
            yield line[: begin.start()] + MASK + (line[end.end() :] if end else "")
            self._lines_left = 0 if end else _MOST_KEY_LINES


def _secret_values(environment: Mapping[str, str]) -> Iterator[str]:
    """The values to mask, also as they stand in a URL. A path that exists is no secret, but the name of its place."""
    for name, value in environment.items():
        yield from (found for found in _passwords(value) if len(found) >= _SHORTEST_VALUE)
        if not _SECRET_VARIABLE.search(name.upper()) or _NOT_A_SECRET.fullmatch(value):
            continue
        for line in (value, *value.splitlines()):
            if len(line) >= _SHORTEST_VALUE and not _is_path(line):
                yield line
                yield quote(line, safe="")


def _passwords(value: str) -> Iterator[str]:
    """The passwords of the URLs in a value, as in DATABASE_URL."""
    for match in re.finditer(r"://[^\s/?#@:'\"]*:([^\s/'\"]+)@", value):
        yield match.group(1)


def _is_path(value: str) -> bool:
    try:
        return value.startswith(("/", "~")) and Path(value).expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False
