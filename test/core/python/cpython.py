"""Reads JSON texts, base64 and one per line; answers what CPython writes of each, base64, or `-` where it writes none."""
import base64, json, sys

ASCII = sys.argv[1] == "ascii"


def strict(pairs):
    seen = dict(pairs)
    if len(seen) != len(pairs):
        raise ValueError("a name twice")
    return seen


def refuse(token):
    raise ValueError(token)


for line in sys.stdin:
    try:
        text = base64.b64decode(line).decode("utf-8")
        value = json.loads(text, object_pairs_hook=strict, parse_constant=refuse)
        out = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=ASCII, allow_nan=False)
        print(base64.b64encode(out.encode("utf-8")).decode())
    except (ValueError, RecursionError):
        print("-")
