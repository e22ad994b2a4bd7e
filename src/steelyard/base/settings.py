"""The one door for settings: values from a TOML file, a dict or keyword arguments, checked against declared types.

Types and limits are declared once, beside the field (`k: Annotated[int, at_least(1)]`), in a pydantic model, in a
dataclass or in the signature of a function.  What does not fit becomes one `SettingError` that knows the path of its
key; an `Origin` adds the file and line.  pydantic is imported on first use.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from steelyard.base.errors import InputError, quoted
from steelyard.base.limits import describe, example_of, is_union
from steelyard.base.nearest import nearest
from steelyard.base.toml_lines import Key, line_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_POSITION = re.compile(r" *\(at (?:line (\d+), column (\d+)|(end of document))\)")


class SettingError(InputError):
    """A setting that does not fit.

    keys   the path of its key, from the outside in; empty for the settings as a whole
    """

    def __init__(self, message: str, *keys: Key) -> None:
        # pydantic hands on no half of a character, such as a key of JSON may hold.
        super().__init__(message.encode(errors="backslashreplace").decode())
        self.keys = keys

    def inside(self, *keys: Key, owner: str = "") -> SettingError:
        """The same of settings that lie under other keys.

        owner   whose setting it is, put before the message
        """
        return SettingError(f"{owner}: {self}" if owner else str(self), *keys, *self.keys)


@dataclass(frozen=True)
class Origin:
    """Where settings come from, for messages.

    name   of the file, or a line of it; empty for values in memory
    text   what the file holds, where it is TOML
    """

    name: str = ""
    text: str = dataclasses.field(default="", repr=False)

    def place(self, *keys: Key) -> str:
        """Words before a message: "FILE, line N: ", "FILE: " where no line can be found, or nothing without a file."""
        if not self.name:
            return ""
        line = line_of(self.text, keys) if keys else None
        return f"{self.name}, line {line}: " if line else f"{self.name}: "

    @contextmanager
    def locating(self, *keys: Key) -> Iterator[None]:
        """Within it, an error of ours gets the place of its key; `keys` lead to the settings that are looked at."""
        try:
            yield
        except InputError as error:
            own = error.keys if isinstance(error, SettingError) else ()
            raise InputError(f"{self.place(*keys, *own)}{error}") from error


def read_toml(path: str | Path) -> tuple[dict[str, Any], Origin]:
    """The values of a TOML file, and where they come from.

    Raises   InputError for a file that cannot be read, is not UTF-8 or not TOML, with the line.
    """
    return parse_toml(read_text(path), str(path))


def read_text(path: str | Path) -> str:
    """The text of a file of settings, with or without a byte order mark; "-" is standard input.

    Raises   InputError for a file that cannot be read or is not UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.object[error.start]:#04x} at {error.start} is not UTF-8; save it as UTF-8"
        ) from None
    except (FileNotFoundError, ValueError):  # No path holds the character NUL.
        raise InputError(f"{path}: there is no such file; check the path") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); expected a TOML file") from error


def parse_toml(text: str, name: str) -> tuple[dict[str, Any], Origin]:
    """The values of a TOML text; `name` is that of its file.

    Raises   InputError with file and line.
    """
    try:
        values, origin = tomllib.loads(text), Origin(name, text)
    except tomllib.TOMLDecodeError as error:
        message, position = str(error), _POSITION.search(str(error))
        line = f", line {position[1]}" if position and position[1] else ""
        where = f", column {position[2]}" if line and position else ", at its end" if position else ""
        hint = _unquoted(text, int(position[1])) if line and position else ""
        raise InputError(f"{name}{line}: is not TOML ({_POSITION.sub('', message)}{where}){hint}") from None
    except RecursionError:
        raise InputError(f"{name}: is nested too deep to be read") from None
    except ValueError:  # Python converts no more digits than that.
        digits = sys.get_int_max_str_digits()
        raise InputError(f"{name}: holds a whole number of more than {digits} digits; write it shorter") from None
    with origin.locating():
        _refuse_odd_values(values)
    return values, origin


def _unquoted(text: str, line: int) -> str:
    """A hint where the key or table of a line has letters that need quotes: most people whose arms are Chinese try."""
    keys = text.splitlines()[line - 1].partition("=")[0].strip(" \t[]")
    bare = next((key.strip() for key in keys.split(".") if not key.isascii() and not {'"', "'"} & set(key)), "")
    return f"; names of other letters than A to Z are in quotes: {quoted(bare)}" if bare else ""


def _refuse_odd_values(value: Any, *keys: Key) -> None:
    """Raise   SettingError for what TOML can write, and no path, name or count can be."""
    if isinstance(value, str) and "\0" in value:
        raise SettingError(f"{dotted(keys)}: {quoted(value)} holds the character NUL; remove it", *keys)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise SettingError(f"{dotted(keys)}: {quoted(value)} needs more than 64 bits; write a smaller number", *keys)
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        _refuse_odd_values(key, *keys, key)
        _refuse_odd_values(part, *keys, key)


def validate(hint: Any, value: Any, *keys: Key) -> Any:
    """A value as its type reads it: a pydantic model, or any annotation.

    Nothing is converted but what TOML and JSON write in another way: a list may be a tuple, a text a path, a whole
    number a number.  keys   where the value lies, for the error
    Raises   SettingError.

    >>> validate(tuple[float, ...], [1, 2.5])
    (1.0, 2.5)
    >>> validate(int, "two", "threads")
    Traceback (most recent call last):
    steelyard.base.settings.SettingError: threads must be a whole number, not 'two'
    """
    adapter = _adapter(hint)
    return value if adapter is None else _validate(adapter, hint, value, keys)


def _validate(adapter: TypeAdapter[Any], hint: Any, value: Any, keys: tuple[Key, ...]) -> Any:
    from pydantic import ValidationError
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError as error:
        failure = error
    if hasattr(hint, "model_fields"):  # Declared as TOML reads it, and may hold objects that JSON cannot write.
        raise _setting_error(failure, hint, value, keys) from None
    try:
        return adapter.validate_json(to_json(value, inf_nan_mode="constants"), strict=True)
    except PydanticSerializationError:
        pass
    except ValidationError as error:
        failure = error
    raise _setting_error(failure, hint, value, keys) from None


@cache
def _adapter(hint: Any) -> TypeAdapter[Any] | None:
    """The check of a type; None for one that pydantic knows nothing of, which is not checked."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError
    from pydantic_core import SchemaError

    try:
        return TypeAdapter(hint)
    except (PydanticUserError, SchemaError):
        return None


def _setting_error(failure: ValidationError, hint: Any, value: Any, keys: tuple[Key, ...]) -> SettingError:
    """The one of pydantic's errors that says most: of an unknown key first, else the innermost."""
    errors = failure.errors(include_url=False)
    paths = [_path(error["loc"], value, missing=error["type"] == "missing") for error in errors]
    best = max(range(len(errors)), key=lambda i: (errors[i]["type"] == "extra_forbidden", len(paths[i])))
    error, path = errors[best], paths[best]
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, SettingError):
        return cause.inside(*keys, *path)
    name = dotted((*keys, *path))
    if isinstance(cause, Exception) and str(cause):
        return SettingError(f"{name}: {cause}" if name else str(cause), *keys, *path)
    if error["type"] == "extra_forbidden":
        return unknown_key(str(path[-1]), _names(_hint_at(hint, path[:-1])), *keys, *path[:-1])
    wanted = _hint_at(hint, path)
    words = describe(wanted) if wanted is not None else error["msg"].lower()
    if error["type"] == "missing":
        return SettingError(f"{name} is missing; expected {words}", *keys, *path)
    return SettingError(f"{name or 'it'} must be {words}, not {shown(_value_at(value, path))}", *keys, *path)


def unknown_key(name: str, names: Sequence[str], *table: Key) -> SettingError:
    """The error for a key that a table does not have, with the nearest one."""
    fact = f"[{dotted(table)}] has no setting {name!r}" if table else f"there is no setting {name!r}"
    return SettingError(f"{fact}; {nearest(name, names)}", *table, name)


def dotted(keys: Sequence[Key]) -> str:
    """A path of keys as a reader writes it.

    >>> dotted(("index", 1, "k1")), dotted(("measures", "mrr@k"))
    ('index[1].k1', 'measures."mrr@k"')
    """
    names = (
        f"[{key}]" if isinstance(key, int) else f".{key if _BARE.fullmatch(key) else json.dumps(key)}" for key in keys
    )
    return "".join(names).removeprefix(".")


def shown(value: object) -> str:
    """A value in a message: short, and of a table only its keys, since a value may be a secret."""
    if isinstance(value, Mapping):
        return f"a table with {', '.join(map(str, value)) or 'nothing'}"
    return quoted(value)


def _path(loc: Sequence[Key], value: Any, *, missing: bool) -> tuple[Key, ...]:
    """The keys of an error's location; it also holds names of types, which are no keys of the value."""
    path: list[Key] = []
    for part in loc:
        inside = isinstance(value, Mapping) and part in value
        if inside or (isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)):
            path.append(part)
            value = value[part]
    return (*path, loc[-1]) if missing else tuple(path)


def _value_at(value: Any, path: Sequence[Key]) -> Any:
    for key in path:
        value = value[key]
    return value


def _hint_at(hint: Any, path: Sequence[Key]) -> Any:
    """The type that is declared at a path; None where that cannot be said."""
    for key in path:
        hint = _inner_hint(hint, key)
    return hint


def _inner_hint(hint: Any, key: Key) -> Any:
    if get_origin(hint) is Annotated:
        return _inner_hint(get_args(hint)[0], key)
    if is_union(hint):
        inner = (_inner_hint(member, key) for member in get_args(hint))
        return next((member for member in inner if member is not None), None)
    if hasattr(hint, "model_fields"):
        return get_type_hints(hint, include_extras=True).get(str(key))
    arguments = get_args(hint)
    if len(arguments) == 2 and isinstance(key, str):
        return arguments[1]
    return arguments[0] if arguments and isinstance(key, int) else None


def _names(hint: Any) -> list[str]:
    if get_origin(hint) is Annotated or is_union(hint):
        return [name for member in get_args(hint) for name in _names(member)]
    return list(getattr(hint, "model_fields", ()))


def check_settings(maker: Callable[..., Any], settings: Mapping[str, Any], *, are_options: bool = False) -> None:
    """Check settings against what a class or function declares of its parameters; nothing is converted.

    A type that pydantic knows nothing of is not checked.
    are_options   as of `make_with`
    Raises   SettingError for a setting that there is none of, with the nearest; for one that is missing; for a value of
             another type or beyond its limits.
    """
    parameters = {key: value for key, value in inspect.signature(maker).parameters.items() if _is_setting(value)}
    is_open = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in inspect.signature(maker).parameters.values())
    for key in settings:
        if key not in parameters and not is_open:
            hint = nearest(key, list(parameters), otherwise=f"it takes {', '.join(parameters) or 'none'}")
            raise SettingError(f"takes no setting {key!r}; {hint}", key)
    hints = _hints(maker)
    for key, value in settings.items():
        if key in hints and key in parameters and value is not parameters[key].default:
            validate(hints[key], value, key)
    for key, parameter in parameters.items():
        if key not in settings and parameter.default is inspect.Parameter.empty:
            wanted = describe(hints[key]) if key in hints else "a value"
            raise SettingError(f"{key} is missing; expected {wanted}{_naming(key, hints.get(key), are_options)}")


def _naming(key: str, hint: Any, is_option: bool) -> str:
    """The name of a missing setting, for the end of a message: as an option and in Python, or by an example."""
    example = example_of(hint)
    if is_option:
        value = f'"{example}"' if example else "…"
        return f"; name it: {option(key, example or '…')}, in Python {key}={value}"
    return f', e.g. {key} = "{example}"' if example else ""


def option(key: str, value: str) -> str:
    """A setting as an option of a command.

    >>> option("base_url", "http://127.0.0.1:8000/v1")
    '--base-url http://127.0.0.1:8000/v1'
    """
    return f"--{key.replace('_', '-')} {value}"


def needed_options(maker: Callable[..., Any]) -> str:
    """The options that a class or function cannot do without, each with its example, as a command has them."""
    parameters, hints = inspect.signature(maker).parameters, _hints(maker)
    missing = [key for key, value in parameters.items() if _is_setting(value) and value.default is value.empty]
    return " ".join(option(key, example_of(hints.get(key)) or "…") for key in missing)


def make_with(maker: Callable[..., Any], settings: Mapping[str, Any], owner: str, *, are_options: bool = False) -> Any:
    """The product of a class or function from settings, which are checked first.

    owner         whose they are, for messages
    are_options   whether commands have an option for each, which the message on a missing one names
    Raises        SettingError; InputError where the maker refuses them by itself.
    """
    try:
        check_settings(maker, settings, are_options=are_options)
        return maker(**settings)
    except SettingError as error:
        raise error.inside(owner=owner) from error
    except TypeError as error:
        raise InputError(f"{owner}: {error}; check its settings") from error


def check_arguments(function: Callable[..., Any], **values: Any) -> None:
    """Check some arguments of a function against their declared types and limits; for its first line.

    Raises   SettingError.
    """
    hints = _hints(function)
    for key, value in values.items():
        validate(hints[key], value, key)


def _is_setting(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def check_fields(instance: Any) -> None:
    """Check the fields of a dataclass against their declared types and limits; for its `__post_init__`.

    Raises   SettingError naming the class.
    """
    hints = _hints(instance.__class__)
    for field in dataclasses.fields(instance):
        value = getattr(instance, field.name) if field.init else None
        if field.init and field.name in hints and value is not field.default:
            try:
                validate(hints[field.name], value, field.name)
            except SettingError as error:
                raise error.inside(owner=type(instance).__name__) from None


@cache
def _hints(maker: Any) -> Mapping[str, Any]:
    """Parameter -> declared type; nothing where a name in an annotation cannot be found."""
    is_class = isinstance(maker, type) and not dataclasses.is_dataclass(maker)
    target: Any = maker.__init__ if is_class else maker
    if not (inspect.isfunction(target) or isinstance(target, type) or inspect.ismethod(target)):
        target = getattr(type(maker), "__call__", maker)  # noqa: B004
    try:
        return get_type_hints(target, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}
