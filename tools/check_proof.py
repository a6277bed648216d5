"""Checks a proof that fenchel wrote, without fenchel:  python check_proof.py PROOF DATA

The proof (docs/reference/proof-format.md) claims  L <= min J <= J(w, b)  for each minimum of
    J(w, b) = strength Omega(w) + sum_i p_i l(<x_i, w> + b + o_i, y_i),      p_i = s_i / sum(s),
on DATA, svmlight text or .npz. All alpha_i = p_i a_i, a_i in the domain of l*, of sum 0 for b, say
    min J >= sum_i (alpha_i o_i - p_i l*(a_i, y_i)) - strength Omega*(-X'alpha / strength).
So alpha is put on a grid, where sums are exact, moved into the domain and, by what round-off left,
to the sum 0. Rounding is charged for: in products with X by magnitudes, in convex functions by the
worse end of an interval. What is said to be proved holds in exact arithmetic, if exp and log are
right to a few units; all these J are >= 0. Exit code 0: each lower bound is proved but for 1e-9 J,
each objective to rounding; 1: one is not, or a file is not what it says; 2: not covered here.
"""

import hashlib
import json
import sys

import numpy as np

U, E = 2.0**-53, 2.0**-47  # a unit of rounding; 64, for some operations or a sum by halves
LOSSES = {  # terms of l, u = y z, r = z - y | domain of a (a + right >= 0) | terms of l*, t = -y a
    "hinge": "relu(1 - u) | -ray(y, 1), ray(-y, 1) | -t",
    "squared_hinge": "relu(1 - u)**2 / 2 | -ray(y, inf), ray(-y, inf) | -t, t**2 / 2",
    "smoothed_hinge": "bend(1 - u, 0, o) / o | -ray(y, 1), ray(-y, 1) | -t, o * t**2 / 2",
    "logistic": "logaddexp(0, -u) | -ray(y, 1), ray(-y, 1) | xlogx(t), xlogx(1 - t)",
    "exponential": "exp(-u) | -ray(y, inf), ray(-y, inf) | xlogx(t), -t",
    "perceptron": "relu(-u) | -ray(y, 1), ray(-y, 1) | 0 * t",
    "squared_perceptron": "relu(-u)**2 / 2 | -ray(y, inf), ray(-y, inf) | t**2 / 2",
    "squared_error": "r**2 / 2 | -inf, inf | a * y, a**2 / 2",
    "absolute_error": "abs(r) | -1, 1 | a * y",
    "huber": "bend(r, -o, o) | -o, o | a * y, a**2 / 2",
    "epsilon_insensitive": "relu(abs(r) - o) | -1, 1 | a * y, o * abs(a)",
    "squared_epsilon_insensitive": "relu(abs(r) - o)**2 / 2 | -inf, inf | a*y, a**2 / 2, o*abs(a)",
    "quantile": "maximum(-o * r, r - o * r) | -o, 1 - o | a * y",
    "expectile": "r**2 / 2 * side(r, o) | -inf, inf | a * y, a**2 / 2 / side(a, o)",
    "poisson": "exp(z), -u, xlogx(y), -y | -y, inf | xlogx(a + y), -(a + y), -xlogx(y), y",
    "gamma": "y * exp(-z), z, -1 - log(y) | -inf, 1 | xlogx(1 - a), a * (1 + log(y))",
    "novelty": "relu(o - z) | -1, 0 | o * a",
    "softmax": "z.max(1), -z[right], log(exp(z.T - z.max(1)).sum(0)) | | *xlogx(relu(a + right)).T",
    "multiclass_hinge": "(z + o * ~right).max(1), -z[right] | | *(-o * a * ~right).T",
}
FUNCTIONS = vars(np) | {
    "relu": lambda v: np.maximum(v, 0.0),
    "ray": lambda y, end: np.where(y > 0, end, 0.0),
    "side": lambda v, o: np.where(v > 0, 1 - o, o),
    "bend": lambda v, low, high: (v - np.clip(v, low, high) / 2) * np.clip(v, low, high),
    "xlogx": lambda v: v * np.log(np.where(v == 0, 1.0, v)),
}


def need(holds, said, error=ValueError):
    if not holds:
        raise error(said)


def read_proof(path):  # the statement and the arrays, from a safetensors file
    raw, arrays = np.fromfile(path, np.uint8).tobytes(), {}
    start = 8 + int.from_bytes(raw[:8], "little")
    entries = json.loads(raw[8:start])
    envelope = json.loads(entries.pop("__metadata__")["fenchel"])
    need(envelope["kind"] == "proof", f"it holds a {envelope['kind']}")
    for name, entry in entries.items():
        first, last = (start + offset for offset in entry["data_offsets"])
        kind = {"F64": "<f8", "I64": "<i8"}[entry["dtype"]]
        arrays[name] = np.frombuffer(raw[first:last], kind).reshape(entry["shape"])
        need(np.isfinite(arrays[name]).all(), f"its {name} is not finite")
    return envelope["header"].get("statement"), arrays


def read_data(path, base):  # rows, columns and values of what is not 0; labels; number of rows
    if path.endswith(".npz"):
        found = np.load(path, allow_pickle=False)
        y, X = found.get("y"), found.get("X")
        need(X is not None or found["format"].item() in ("csr", b"csr"), "its matrix is no CSR")
        n = len(found["indptr"]) - 1 if X is None else len(X)
        row = np.repeat(np.arange(n), np.diff(found["indptr"]) if X is None else X.shape[1])
        column = found["indices"] if X is None else np.arange(X.size) % X.shape[1]
        value = (found["data"] if X is None else X.ravel()).astype(float)
    else:
        module = {"gz": "gzip", "bz2": "bz2", "xz": "lzma"}.get(path.split(".")[-1], "io")
        with __import__(module).open(path, "rt", encoding="utf-8-sig") as file:
            lines = [line.partition("#")[0].replace(":", " ").split() for line in file]
        lines = [line[:1] + line[3:] if "qid" in line[1:2] else line for line in lines if line]
        y, n = np.array([float(line[0]) for line in lines]), len(lines)
        row = np.repeat(np.arange(n), [len(line) // 2 for line in lines])
        column = np.array([int(each) for line in lines for each in line[1::2]], dtype=np.int64)
        value = np.array([float(each) for line in lines for each in line[2::2]])
        column -= int(column.min(initial=1) > 0) if base is None else base
    order = np.lexsort((column, row))
    order = order[value[order] != 0]
    return row[order], column[order], value[order], y, n


def sums(keys, values, size):  # of values by key, and bounds of their errors
    magnitude, count = np.bincount(keys, abs(values), size), np.bincount(keys, minlength=size)
    return np.bincount(keys, values, size), U * (count + 4) * magnitude


def on_grid(alpha, p, ends, right, intercept):
    """The dual variables as whole multiples of a q, in the domain, of sum 0 with an intercept."""
    bits = min(52, 60 - int(np.log2(alpha.size))) - int(np.ceil(np.log2(alpha.shape[1])))
    q = 2.0 ** (np.frexp(abs(alpha).max())[1] - bits)
    whole = p * (1 - 2 * E) / q  # for p is rounded
    if right is None:
        ends = [np.where(p > 0, np.clip(whole * end, -(2.0**bits), 2.0**bits), 0) for end in ends]
        low, high = (end.astype(np.int64)[:, None] for end in ends)
        A = np.clip(np.rint(alpha / q), low, high).astype(np.int64)
    else:
        whole = np.minimum(whole, alpha.shape[1] * 2.0**bits).astype(np.int64)
        A = (np.maximum(alpha, 0) / q * ~right).astype(np.int64)
        A[np.arange(len(A)), A.argmax(axis=1)] -= np.maximum(A.sum(axis=1) - whole, 0)
        A[right] = -A.sum(axis=1)
    far = abs(A * q - alpha) > 1e-9 * (p[:, None] + abs(alpha)) + A.shape[1] * 2 * q
    need(not far.any(), "a dual variable lies outside the domain of its conjugate")
    total = A.sum(axis=0)
    if intercept and right is None:
        room = A - low if total > 0 else high - A
        A -= np.sign(total) * np.clip(abs(total) - np.cumsum(room, axis=0) + room, 0, room)
    for k, m in np.argwhere((total[:, None] > 0) & (total < 0)) if intercept else ():
        amount, room = max(min(A[:, k].sum(), -A[:, m].sum()), 0), A[:, k] + whole * right[:, k]
        taken = np.clip(amount - np.cumsum(room) + room, 0, room)
        A[:, k], A[:, m] = A[:, k] - taken, A[:, m] + taken
    need(not intercept or not A.sum(axis=0).any(), "the dual variables cannot add up to 0")
    return A * q


def check(loss, option, data, p, o, y, right, omega, w, b, alpha):
    """(J, a bound of its error, the lower bound that is proved) of one minimisation."""

    def terms(part, v):  # of l, of the domain, or of l*: at scores or dual variables
        v, x = (v[:, 0], y) if right is None else (v, y[:, None])
        letters = dict(z=v, a=v, u=x * v, r=v - x, t=-x * v, y=x, o=option, right=right)
        found = eval(f"[{loss.split('|')[part].strip()}]", FUNCTIONS | letters)
        return found if part == 1 else [np.where(p > 0, each, 0.0) for each in found]

    (row, column, value), (strength, rho, c, intercept) = data, omega
    z, e = np.stack([sums(row, value * v[column], len(p)) for v in w], axis=-1)
    z, e = z + b + o[:, None], e + 4 * U * (abs(z) + abs(b) + (abs(o) + abs(y))[:, None])
    e = e if right is None else np.where(right, -e, e)  # the worst that K errors can do
    here, penalty = terms(0, z), strength * np.sum(c * (rho * abs(w) + (1 - rho) / 2 * w * w))
    worst = np.maximum(sum(terms(0, z + e)), sum(terms(0, z - e))) + E * sum(map(abs, here))
    J, error = penalty + np.sum(p * sum(here)), np.sum(p * (worst - sum(here))) + E * penalty
    exact = on_grid(alpha, p, terms(1, z), right, intercept)
    a = np.divide(exact, p[:, None], out=0 * exact, where=p[:, None] > 0)
    g, g_error = np.stack([sums(column, value * v[row], len(c)) for v in exact.T], axis=1)
    size = abs(g) + g_error + E * (abs(g) + strength * c)
    scale, over = 1.0, np.maximum(size - strength * c * rho, 0)
    if rho == 1 and over.any():  # L1: alpha is scaled into the domain
        scale, over = (strength * c / np.maximum(size, 1e-300)).min() * (1 - E), 0 * over
    conjugate = np.sum(over * over / (2 * strength * c * (1 - rho))) if over.any() else 0.0
    both = zip(*(terms(2, scale * a * (1 + k * E)) for k in (-1, 1)), strict=True)
    starred = np.sum(p * sum(np.maximum(*pair) + E * abs(pair[0]) for pair in both))
    shift = scale * np.sum(exact.T * o) - E * np.sum(abs(exact.T * o))
    return J, error, max(shift - starred - (1 + E) * conjugate, 0.0)


def main(proof, path):
    said, arrays = read_proof(proof)
    need(said, "a proof that states no problem; fenchel verify can check it", NotImplementedError)
    name, omega, options = said["loss"], said["regularizer"], said["loss_options"]
    loss, together = LOSSES.get(name, ""), name in ("softmax", "multiclass_hinge")
    c = arrays.get("penalty_weights", np.ones(said["columns"]))
    known = loss and omega in ("l2", "l1", "elastic_net") and "slack" not in options.values()
    need(known and 0 not in c, f"{name} {options}, {omega}, free: {0 in c}", NotImplementedError)
    option = options.get("cost", 1.0) if together else next(iter(options.values()), None)
    rho = {"l2": 0.0, "l1": 1.0}.get(omega, said["regularizer_options"].get("l1_ratio"))
    *data, y, n = read_data(path, said["index_base"])
    s, o = arrays.get("sample_weight", np.ones(n)), arrays.get("offset", np.zeros(n))
    if together or "ray" in loss:  # classes, one of which may be +1
        classes = said["classes"] or sorted(set(y.tolist()))
        y = np.array([classes.index(label) for label in y.tolist()])
    y = np.zeros(n) if name == "novelty" else y.astype(float)
    need(option is None or 0 <= option <= (1 if "tile" in name else np.inf), "its option")
    need(min(said["strength"], s.min(), c.min(), rho, 1 - rho) >= 0 and said["rows"] == n, "sizes")
    numbers = np.column_stack(data).astype("<f8").tobytes() + np.array([n, len(c)], "<f8").tobytes()
    p, verdict = s / s.sum(), 0
    for k, claim in enumerate(said["claims"]):
        w, b, alpha = (arrays[x][... if together else [k]] for x in ("w", "intercept", "alpha"))
        labels = np.where(y == claim["positive"], 1.0, -1.0) if "ray" in loss else y
        digest = hashlib.sha256(numbers + labels.astype("<f8").tobytes()).hexdigest()
        need(digest == claim["digest"], f"{path} does not hold the data of the proof")
        need(alpha.shape == (len(w), n) and (said["intercept"] or not b.any()), "its arrays")
        right = np.arange(len(w)) == y[:, None] if together else None
        of = (said["strength"], rho, c, said["intercept"]), w, b, alpha.T
        J, error, proved = check(loss, option, data, p, o, labels, right, *of)
        holds = abs(J - claim["objective"]) <= error and claim["lower_bound"] <= proved + 1e-9 * J
        print(f"claimed {claim['lower_bound']!r} <= min J <= {claim['objective']!r}", end=": ")
        print("yes" if holds else "NO", f"- {float(proved)!r} <= min J <= {float(J + error)!r}")
        verdict |= not holds
    return verdict


if __name__ == "__main__":
    np.seterr(all="ignore")
    try:
        sys.exit(main(*sys.argv[1:]))
    except NotImplementedError as error:
        sys.exit(print("not covered:", error) or 2)
    except Exception as error:
        sys.exit(print("NO:", error) or 1)
