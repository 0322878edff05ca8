"""Text that is not a secret stays, and redaction takes linear time."""

from __future__ import annotations

import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

import chat_loop
from chat_loop.redact import redact_text
from tests.support.limits import cpu_limit
from tests.support.made_secrets import shape

BENIGN = r"""
The password is stored in the vault.
Your password must be at least 12 characters long, with 1 digit.
Passwords are hashed with argon2id; the password is base64-encoded on the wire.
The token is a JWT, the secret is SHA-256 hashed.
Das Passwort ist im Tresor. Das Passwort ist falsch. Passwort: siehe Tresor
Le mot de passe est incorrect. Mot de passe : oublié
La contraseña es obligatoria. La clave es el tiempo.
Changed the password to something longer; if you pass `x1y2z3` it fails.
password = get_password()
password = getpass.getpass("Password: ")
token = tokens[i]
token = await client.fetch_token(scope="read:all")
token = response.json()["access_token"]
self.api_key = api_key or os.environ["OPENAI_API_KEY"]
client = Client(api_key=api_key, password=password2, token=self._token)
def login(user: str, password: str = "", token: Optional[str] = None) -> None:
password: str | None = None
const password = process.env.DB_PASSWORD;
if (token === null || password == undefined) return
secret_key = settings.SECRET_KEY
max_tokens=4096, tokens: 12034, token_count = 17
PASSWORD_MIN_LENGTH=8
PWD=/home/bob/project1
"password": {"type": "string", "format": "password"}
{"password": "string", "token": "string"}
<input type="password" name="password" placeholder="Password" autocomplete="current-password">
<label for="password">Password:</label>
"forgot_password": "Forgot your password?", "password": "Password"
API_KEY=<your-key>
API_KEY=your-api-key-here
api_key: "xxxxxxxxxxxxxxxxxxxx"
api_key = "sk-..."
export ANTHROPIC_API_KEY=sk-ant-...
TOKEN=${TOKEN}
TOKEN=$(cat /run/secrets/token1)
token: {{ vault_token_2 }}
password: "{password}"
password=%(password)s
password=********
password: changeme
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
-H "Authorization: Bearer ${API_KEY_2}"
headers["Authorization"] = f"Bearer {self.token}"
Basic authentication is simple. Bearer authentication-scheme-description
https://user:password@example.com/
https://example.com:8443/a/b@2x.png?c=d:e@f
git@github.com:bob/repo.git and ssh://git@github.com:22/bob/repo.git
mailto:bob@example.com, http://[::1]:8080/x
root:x:0:0:root:/root:/bin/bash
docker run -u 1000:1000 -e MODE=fast image
123e4567-e89b-12d3-a456-426614174000
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
task-9fceb02d0ae598e95dc970b74767f19372d61af8 on disk-0123456789abcdef0123456789abcdef
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAA
v1.2.3-rc.1+build.20261122 and Python 3.11.9 on 2026-11-22T01:25:49Z
+49 170 1234567, (555) 123-4567, +1 415 555 2671
ISBN 978-3-16-148410-0, EAN 4006381333931
order 4111 1111 1111 1112, 1234567890123456, 1700000000000000
0.4111111111111111 and 4111111111111111.5 and 4111111111111111a
risk-averse, task-force and ask-me-anything-about-everything-2026
sk-learn-compatible-estimators and hf_hub_download_from_the_repository_of
xoxb-not-a-slack-token-but-words and ghp_documentation_of_the_personal_access_tokens
AKIA is a prefix; -----BEGIN PRIVATE KEY----- starts a block and -----END PRIVATE KEY----- ends it.
-----BEGIN PUBLIC KEY----- MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
The key is in the door; monkey: banana12345678901; primary_key = user_id_2024
cache_key = "user:1234:profile"; public_key: "ssh-ed25519-AAAAC3NzaC1lZDI1NTE5AAAA"
"nextToken": "eyJzdGFydCI6MTIzfQ", continuation_token = page2of3
arn:aws:secretsmanager:us-east-1:123456789012:secret:MyDatabase-a1b2c3
compass: n12345w6789, bypass=abc1234, signature: Qx81
password=([^&]+)&token=(\w+)
password=[^&\s]+&x=1 or passwd:\s*(?P<pw>\S+) or token: [a-z0-9]{32}
print("password: ", value); logging.info("token=%s user=%s", token, user)
Cookie: theme=dark; lang=en; consent=yes. document.cookie = "session=" + id; cookies.get("session")
Set-Cookie: session=<value>; Path=/. The cookie: session_id=your-session-id-here
mysql -u root -p; mysql -u root -p shop; mysqldump --port=3306 -P 3306 -proot-password; mysql -p$PASS
Module.submod.NotImplementedErrorOfAnything; MainWindowControllerDelegate.shared.applicationDidFinishLaunchingNow
from secrets import token_hex; token = secrets.token_hex(16)
tokens = tokenizer.encode("hello"); token = vocab["##ing"]
""".strip().split("\n")


SECRET = shape("ghp_{L36}")(random.Random(5))
MARK = "[REDACTED:github:1]"


@pytest.mark.parametrize("text", BENIGN)
def test_what_is_no_secret_stays_and_a_secret_beside_it_goes(text: str) -> None:
    assert redact_text(text) == text
    assert redact_text(f"{text}\n{SECRET}\n{text}") == f"{text}\n{MARK}\n{text}"


def paragraphs() -> Iterator[str]:
    """Yield code that mentions passwords and tokens but contains none: this package and parts of
    Python's library.
    """
    library = Path(sysconfig.get_paths()["stdlib"])
    names = (
        "getpass netrc secrets hmac ssl smtplib ftplib imaplib poplib tokenize token ast "
        "email urllib http json"
    )
    roots = [Path(chat_loop.__file__).parent, *(library / name for name in names.split())]
    for root in roots:
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root.with_suffix(".py")]:
            yield from re.split(r"\n\s*\n", path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_hardly_any_paragraph_of_code_is_changed() -> None:
    every = list(paragraphs())
    changed = [text for text in every if redact_text(text) != text]
    assert len(every) > 5000
    assert all(MARK in redact_text(f"{text}\n{SECRET}") for text in every[::50])
    assert len(changed) <= len(every) * 0.0005, changed


HOSTILE = (
    "a", "4", "sk-", "eyJ", "eyJ.", "AC", "password=", "token=token=", 'password="', "password='a\"b`", "://a:b/",
    "authorization:", "authorization: basic ", "password: ", "--token ", "-u a:", "((((", "41111111 ", "\\", "[REDACTED:",
    "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA\n", "password=" + "a" * 60 + "1234.", "token: " + "aB" * 60 + "12 ",
    "sk-ant-" + "a" * 500 + "-", "password=aB1[REDACTED:x:aaaa]", "cookie: a=", "cookie:a=b;", "mysql -x ", "mysql", "\u200b", "M\u200b", "password=" + "(" * 70, "login a password ",
)  # fmt: skip


@pytest.mark.parametrize(
    "size", [10_000, pytest.param(150_000, marks=pytest.mark.slow)], ids=["short", "long"]
)
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_secret_behind_a_hostile_text_is_found_in_linear_time(unit: str, size: int) -> None:
    text = (unit * size)[:size]
    with cpu_limit(60):
        redacted = redact_text(f"{text}\n\n{SECRET}\n")
    assert SECRET not in redacted
    assert len(redacted) < len(text) + 100
