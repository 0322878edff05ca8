"""Where installed models live: one directory, one `<name>.gguf` a model. The caller says which
directory.
"""

from __future__ import annotations

from pathlib import Path

from chat_loop.errors import ModelError
from chat_loop.models.catalogue import CATALOGUE, EmbeddedModel
from chat_loop.models.gguf import is_gguf

INSTALL_HINT = "chat-loop models list shows the embedded models."


def find(name: str) -> EmbeddedModel:
    """The catalogue's model of this name. Raises ModelError when there is none."""
    for model in CATALOGUE:
        if model.name == name:
            return model
    known = ", ".join(model.name for model in CATALOGUE)
    raise ModelError(f"There is no embedded model named {name}.", f"Known are: {known}.")


def path_of(directory: Path, name: str) -> Path:
    """Where the catalogue's model of this name is or would be. Raises ModelError for a name not in
    the catalogue.
    """
    return directory / f"{find(name).name}.gguf"


def partial_of(directory: Path, name: str) -> Path:
    """Where an installation collects the bytes of this model until they are complete and
    checked.
    """
    return directory / f"{name}.gguf.partial"


def record_of(directory: Path, name: str) -> Path:
    """The note beside a partial file of how many of its bytes are safe on the disk."""
    return directory / f"{name}.gguf.partial.json"


def is_installed(directory: Path, model: EmbeddedModel) -> bool:
    """True when the model's file is there in full length; its hash was compared when it was
    installed.
    """
    path = directory / f"{model.name}.gguf"
    return path.is_file() and path.stat().st_size == model.size


def installed(directory: Path) -> tuple[EmbeddedModel, ...]:
    """The catalogue's models whose files are in the directory, in the catalogue's order."""
    return tuple(model for model in CATALOGUE if is_installed(directory, model))


def remove(directory: Path, name: str) -> int:
    """Delete a model and what an unfinished installation left of it; return the bytes freed.

    Raises ModelError for an unknown name, when nothing of the model is there, or when the disk
    refuses.
    """
    freed, found = 0, False
    for path in (path_of(directory, name), partial_of(directory, name), record_of(directory, name)):
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ModelError(f"{path} cannot be deleted: {error.strerror}.") from error
        freed, found = freed + size, True
    if not found:
        raise ModelError(f"{name} is not installed.", INSTALL_HINT)
    return freed


def resolve(directory: Path, ref: str) -> Path:
    """The model file that `ref` means: the name of an installed model, or the path of any `.gguf`
    file.

    Raises ModelError when it is not installed, not there, or no GGUF file.
    """
    for model in CATALOGUE:
        if model.name == ref:
            if not is_installed(directory, model):
                raise ModelError(
                    f"The embedded model {ref} is not installed.", f"chat-loop models install {ref}"
                )
            return path_of(directory, ref)
    path = Path(ref)
    try:
        path = path.expanduser()
        if path.suffix.lower() == ".gguf" and not path.is_file():
            raise ModelError(f"There is no model file {path}.", INSTALL_HINT)
        if path.suffix.lower() != ".gguf":
            raise ModelError(
                f"{ref} is neither an embedded model nor the path of a .gguf file.", INSTALL_HINT
            )
        if not is_gguf(path):
            raise ModelError(
                f"{path} is not a GGUF file.", "Only models in the GGUF format can be embedded."
            )
    except (OSError, RuntimeError, ValueError) as error:  # no home directory; a NUL in the path
        raise ModelError(f"The model file {ref!r} cannot be read: {error}.") from error
    return path
