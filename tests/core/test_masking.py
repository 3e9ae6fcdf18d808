"""Secrets in console output: which texts are masked, and which stay."""

import pytest

from core.masking import MASK, Masker, PrivateKeyMasker

HUB = "hf_" + "aB3" * 11 + "x"
OURS = "prx_" + "a2b3" * 8
AWS_ID = "AKIA" + "IOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"token {HUB} is not valid", f"token {MASK} is not valid"),
        (f"key={OURS}.", f"key={MASK}."),
        (f"id {AWS_ID}", f"id {MASK}"),
        (f"AWS_SECRET_ACCESS_KEY={AWS_SECRET} and more", f"AWS_SECRET_ACCESS_KEY={MASK} and more"),
        (f"aws_secret_access_key = {AWS_SECRET}", f"aws_secret_access_key = {MASK}"),
        ("{'HF_TOKEN': 'short one', 'HOME': '/root'}", "{'HF_TOKEN': [masked], 'HOME': '/root'}"),
        ('"password": "p, q", "user": "u"', '"password": [masked], "user": "u"'),
        ("> Authorization: Bearer abc.def-ghi", f"> Authorization: {MASK}"),
        ("{'authorization': 'Basic dXNlcjpwYXNz', 'accept': '*/*'}", "{'authorization': '[masked]', 'accept': '*/*'}"),
        ("(b'Authorization', b'Bearer abcdef')", "(b'Authorization', b'[masked]')"),
        ("sent Bearer 0123456789abcdef", f"sent Bearer {MASK}"),
        ("sent Basic dXNlcjpwYXNz to it", f"sent Basic {MASK} to it"),
        ("auth basic YTpi", "auth basic YTpi"),  # "a:b", shorter than any password
        ("token: 9f8e7d6c5b4a", f"token: {MASK}"),
        ('"token": "abcd1234efgh", "n": 1', f'"token": "{MASK}", "n": 1'),
        ("token=s3cr3t-value-1 sent", f"token={MASK} sent"),
        ('{"token": "abcdefghijkl", "n": 1}', f'{{"token": "{MASK}", "n": 1}}'),
        ("token: 12345678901234567890", f"token: {MASK}"),
        (f"sent Token {'0f' * 16} to it", f"sent Token {MASK} to it"),
        ("sent Bearer abcdef12, Bearer: abcdef0123", f"sent Bearer {MASK}, Bearer: {MASK}"),
        ("run --password hunter22 --api-key=abc123", f"run --password {MASK} --api-key={MASK}"),
        ("run --token 'a b' --steps 3", f"run --token {MASK} --steps 3"),
        ("PGPASSWORD=hunter2 psql", f"PGPASSWORD={MASK} psql"),
        ("api key: 0123abcd", f"api key: {MASK}"),
        ("login with hf_abc12345", f"login with {MASK}"),
        ("Set-Cookie: session=abc; Path=/", f"Set-Cookie: {MASK}"),
        ("postgresql://app:pa@ss@db:5432/x", f"postgresql://app:{MASK}@db:5432/x"),
        ("clone https://0123456789abcdef0123@git.example/x", f"clone https://{MASK}@git.example/x"),
        ("GET /blob?X-Amz-Signature=ab12&part=3", f"GET /blob?X-Amz-Signature={MASK}&part=3"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", MASK),
        ("ghp_" + "a1" * 18, MASK),
        (f"before {PEM}", f"before {MASK}"),
    ],
)
def test_mask_replaces_a_secret_and_keeps_the_rest(text: str, masked: str) -> None:
    assert Masker({}).mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "sft: step 3 of 120  loss 2.31  tokens 512  lr 1e-05",
        "pad_token: <pad>, eos_token='</s>', num_eos_tokens=3, max_tokens: 64",
        "KeyError: 'responses'",
        "https://huggingface.co/org/model/resolve/main/config.json",
        "sha256 3f786850e387550fdab836ed7e6dc881de23001b3f786850e387550fdab836ed",
        "checkpoint ckpt_a2b3c4d5e6f7a2b3c4d5e6f7 of job_a2b3c4d5e6f7a2b3c4d5e6f7",
        '  File "/srv/app/trainer/cli.py", line 10, in main',
        "objective/kl 0.31 · 62%|██████▏   | 62/100 [00:12<00:07, 5.1it/s]",
        "the secret of a good reward model",
        "basic training of the tokenizer, Basic settings",
        "token: <pad>  token: 50256  token=the  token: 1e-05",
        "token: 12 tokens, token=EOS, bearer of 12 tokens, --max-new-tokens 64, --tokenizer 'gpt2'",
    ],
)
def test_mask_keeps_ordinary_trainer_output(text: str) -> None:
    assert Masker({"TOKENIZERS_PARALLELISM": "false", "HOME": "/root"}).mask(text) == text


def test_mask_hides_values_of_secret_variables() -> None:
    masker = Masker(
        {
            "WANDB_API_KEY": "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
            "MY_DSN": "a b/c?d=e1",
            "DATABASE_URL": "postgresql://u:sekrit-pw@h/db",
            "SSH_KEY": "/etc/hostname",
            "NUMBER_TOKEN": "12345678",
            "SHORT_TOKEN": "abc",
            "MODEL": "some/model-name",
        }
    )
    text = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c | a b/c?d=e1 | a%20b%2Fc%3Fd%3De1 | sekrit-pw"
    assert masker.mask(text) == " | ".join([MASK] * 4)
    assert masker.mask("/etc/hostname 12345678 abc some/model-name") == "/etc/hostname 12345678 abc some/model-name"


def test_private_key_over_several_pieces_is_masked() -> None:
    masker = PrivateKeyMasker()
    begin, inside, end = PEM.rsplit("\n", 2)
    pieces = [masker.mask(piece) for piece in (f"x\n{begin}", inside, f"{end}\ny")]
    assert pieces == [f"x\n{MASK}", "", "y"]


def test_private_key_printed_as_one_line_is_masked() -> None:
    line = repr(PEM)
    assert PrivateKeyMasker().mask(f"{line} and\nmore") == f"'{MASK}' and\nmore"


@pytest.mark.parametrize("unit", ["a", "a_", "A_", "a://", "token=", "password", "'", "eyJ", "-----BEGIN "])
def test_mask_time_grows_with_the_length_only(unit: str) -> None:
    """A quadratic pattern would take minutes for these lines."""
    masked = Masker({}).mask("x " + unit * (200_000 // len(unit)))
    assert len(masked) <= 200_010
