"""Files that pass every digest and yet say what the library never would.

Written from the description of the format, without the library's own code for it.
"""

import hashlib
import json

import numpy as np
import safetensors.numpy

TYPES = {"<f8": "F64", "<i8": "I64", "|u1": "U8", "<f4": "F32"}


def digest(parts):
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little") + part)
    return state.hexdigest()


def digest_of(arrays):
    parts = []
    for name in sorted(arrays):
        array = arrays[name]
        parts += [f"{name} {array.dtype.str} {array.shape}".encode(), array.tobytes()]
    return digest(parts)


def envelope(header, arrays, *, kind="model", version=1):
    """The text under "fenchel", for a header given as JSON text."""
    seal = digest_of(arrays)
    fields = {"format": version, "kind": kind, "arrays": seal}
    fields["digest"] = digest(
        [str(version).encode(), kind.encode(), seal.encode(), header.encode()]
    )
    return json.dumps(fields)[:-1] + ', "header": ' + header + "}"


def entries_of(arrays):
    """Where each array lies, one after the other."""
    entries, end = {}, 0
    for name, array in arrays.items():
        entries[name] = {
            "dtype": TYPES[array.dtype.str],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    return entries


def safetensors_file(layout, data=b""):
    """A safetensors file of that JSON and those bytes."""
    text = (layout if isinstance(layout, str) else json.dumps(layout)).encode()
    return len(text).to_bytes(8, "little") + text + data


def forge(header, arrays, *, kind="model", version=1):
    """A file that is consistent in itself, whatever its header says."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = header if isinstance(header, str) else json.dumps(header)
    metadata = {"fenchel": envelope(text, arrays, kind=kind, version=version)}
    layout = {"__metadata__": metadata, **entries_of(arrays)}
    return safetensors_file(layout, b"".join(array.tobytes() for array in arrays.values()))


def taken_apart(content):
    """The header, as Python's own values, and the arrays of a file that the library wrote."""
    length = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + length])["__metadata__"]
    return json.loads(metadata["fenchel"])["header"], safetensors.numpy.load(content)
