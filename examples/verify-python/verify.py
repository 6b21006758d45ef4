"""Checks journals of capsule-gate without any code of capsule-gate: python3 verify.py --keys keyring.json JOURNAL
Needs Python 3.9 and the `openssl` command (3.0 or later). A JOURNAL is the text of all segments in their order; '-' is
standard input. Exit code: 0 whole, 1 broken, 3 nothing is wrong but something is missing, 2 the check could not run.
Checked: each line is strict JSON and linked to the line before it; signatures of capsules, events, commitments; heads and what
they count; seals, their roots and counts; the adoption of a journal of version 1; with --head, heads kept elsewhere.
Not checked: what capsules say (Class 1), members of other lines, actions and how they were concluded, declarations, halts,
sessions, people and their votes, evidence, weak keys in the keyring. `capsule-gate verify` does; docs/verify.md explains all.
"""
import argparse, base64, contextlib, decimal, functools, hashlib, json, pathlib, re, subprocess, sys, tempfile

SIGNED = set("""ADOPTED APPROVAL_OPENED APPROVAL_REMINDER APPROVAL_VOTED CONFIG_CHANGED DECISION_LOST EVIDENCE_ERASED
    EVIDENCE_ERASING GRANT_ISSUED GRANT_REVOKED HALT HEAD IDP_MISSION_REF_MISMATCH_REJECTED IDP_SUBMITTED ITEM_CLOSED
    MANDATE_PRESENTED MANDATE_REVOKED MISSION_SET OBJECT_SET REFUSAL_LIFTED RESUME SEGMENT_SEALED SESSION_AUDITED SESSION_CLOSED
    SESSION_OPENED SESSION_RESUMED TOOLS_PINNED TOOL_ACCEPTED TOOL_CHANGED WEBHOOK_DEAD WEBHOOK_DISABLED
    WEBHOOK_ENABLED""".split())
UNSIGNED = set("""ACTION_DISPATCHED ACTION_RESULT_RECORDED APPROVAL_JOINED CAPSULE CEDAR_DENY_RECORDED IDP_COMMITMENT_GAP
    IDP_COMMITMENT_VERIFIED REFUSALS_DROPPED REFUSAL_REPEATED REPLAYED SERVER_ASKED SERVER_FAULT STATE_TRANSITIONED""".split())
HEAD = ["upto", "hash", "time", "lines", "capsules"]; SEAL = ["segment", "size", "root"] + HEAD + ["counts"]
HASH, AT = re.compile("[0-9a-f]{64}"), re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
# How a capsule's protected header begins: the CBOR map {1: -8, 3: content type, 4: key id, 15: claims}.
HEADER = re.compile(rb"\xa4\x01\x27\x03\x78[%-]application/agent-action-capsule(-outcome)?\+json\x04\x58\x20(.{32})", re.S)
# Findings that leave a journal open; every other one means that it is broken.
MISSING = set("""event_key_unknown head_key_unknown signature_kid_unknown journal_begins_later journal_type_unknown
    journal_version_1 line_unterminated head_missing lines_uncovered segment_not_whole given_head_unknown""".split())

def strict_json(text):  # an error where two readers might understand the text differently
    def members(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a member name occurs twice")
        return dict(pairs)
    def integer(token):  # readers round beyond 2^53; a Decimal, as fractions are, has no canonical form
        return int(token) if len(token) < 18 and abs(int(token)) < 2 ** 53 else decimal.Decimal(token)
    value = json.loads(text.decode("utf-8"), object_pairs_hook=members, parse_int=integer, parse_float=decimal.Decimal,
                       parse_constant=int)  # NaN and Infinity are not JSON: int() refuses them
    json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")  # an error for half of a surrogate pair
    return value

def canonical(value):  # JCS (RFC 8785) for names that sort alike by code point and by UTF-16 unit, as a gate's do
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

def from_base64url(text):
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != text:
        raise TypeError("not base64url, or not in its one spelling")
    return data

def merkle_root(leaves):  # RFC 6962: on the left stand as many leaves as the largest power of two below their number
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().hexdigest()
    left = 1 << ((len(leaves) - 1).bit_length() - 1)
    children = merkle_root(leaves[:left]) + merkle_root(leaves[left:])
    return hashlib.sha256(b"\1" + bytes.fromhex(children)).hexdigest()

@functools.lru_cache(maxsize=None)  # variants of one journal share most signatures
def ed25519_holds(public_key, message, signature):
    der = bytes.fromhex("302a300506032b6570032100" + public_key)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("key", der), ("message", message), ("signature", signature)):
            pathlib.Path(folder, name).write_bytes(content)
        command = "openssl pkeyutl -verify -pubin -keyform DER -inkey key -rawin -in message -sigfile signature"
        ran = subprocess.run(command.split(), cwd=folder, capture_output=True, text=True)
    if "Signature Verif" not in ran.stdout:
        raise OSError(f"openssl checked no signature: {ran.stderr}")
    return ran.returncode == 0

def signature_fault(keys, purpose, kid, message, signature):
    if not signature:
        raise TypeError("no signature")
    key = keys.get(kid)
    if key is None or key["purpose"] != purpose or key["alg"] not in (-8, -19):
        return "kid_unknown" if key is None else "key_purpose"
    octets = from_base64url(signature)
    return None if len(octets) == 64 and ed25519_holds(key["public_key"], message, octets) else "signature_invalid"

def event_fault(line, keys):  # signed is a fixed first line, and the canonical JSON of the members, origin and type
    signed = canonical({name: line[name] for name in line if name not in ("v", "seq", "prev", "at", "kid", "sig")})
    fault = signature_fault(keys, "event", line["kid"], f"capsule-gate/event/v1\n{signed}".encode(), line["sig"])
    name = "head" if line["type"] in ("HEAD", "SEGMENT_SEALED") else "event"
    return fault and (f"{name}_key_unknown" if fault == "kid_unknown" else f"{name}_signature")

def commitment_fault(record, keys):  # signed is the canonical JSON of its other members
    signed = canonical({name: record[name] for name in record if name != "kernel_signature"}).encode()
    fault = signature_fault(keys, "event", record["kid"], signed, record["kernel_signature"])
    return fault and ("event_key_unknown" if fault == "kid_unknown" else "commitment_signature")

def capsule_fault(line, keys):  # COSE_Sign1 (RFC 9052): signed is ["Signature1", protected header, h'', payload] in CBOR
    def byte_string(data):
        start, width = (b"\x58", 1) if len(data) < 256 else (b"\x59", 2) if len(data) < 65536 else (b"\x5a", 4)
        return start + len(data).to_bytes(width, "big") + data
    header, _ = (from_base64url(line[name]) for name in ("protected", "signature"))
    outcome, kid = HEADER.match(header).groups()
    signed = b"\x84\x6aSignature1" + byte_string(header) + b"\x40" + byte_string(canonical(line["capsule"]).encode())
    fault = signature_fault(keys, "statement", kid.hex(), signed, line["signature"])
    other = line["statement"] != ("outcome" if outcome else "agent_action")
    return f"signature_{fault}" if fault else "statement_type_mismatch" if other else None

def head_text(line):  # the only text of a head with these signed members: nothing behind the last one shows a change
    envelope = {"v": 2, "origin": line["origin"], "seq": line["upto"] + 1, "prev": line["hash"], "at": line["time"]}
    members = {name: line[name] for name in ["type"] + (HEAD if line["type"] == "HEAD" else SEAL) + ["kid", "sig"]}
    counts = {"counts": dict(sorted(line["counts"].items()))} if "counts" in members else {}
    return json.dumps({**envelope, **members, **counts}, ensure_ascii=False, separators=(",", ":"))

def heads_in(text, keys):  # every JSON object in the text that is a head, or a seal, and whose signature holds
    for brace in re.finditer("{", text):
        with contextlib.suppress(ValueError, TypeError, KeyError):
            value = json.JSONDecoder().raw_decode(text, brace.start())[0]
            head = {"type": "HEAD", **{name: value[name] for name in HEAD + ["origin", "kid", "sig"]}}
            if event_fault(value if value.get("type") == "SEGMENT_SEALED" else head, keys) is None:
                yield head

def given_faults(heads, first, last, hashes):  # of a journal that is not the one of which the heads were kept
    own = [head for head in heads if head["origin"] == first["origin"]]
    if not own:
        return ["given_head_foreign" if heads else "given_head_unknown"]
    upto, digest = max((head["upto"], head["hash"]) for head in own)
    return [any(head["upto"] == upto and head["hash"] != digest for head in own) and "given_heads_forked",
            upto > last["seq"] and "journal_behind_head", upto < first["seq"] - 1 and "given_head_unknown",
            {first["seq"] - 1: first["prev"], **hashes}.get(upto, digest) != digest and "given_head_mismatch"]

def check_journal(text, keys, heads):  # the last head that holds, and findings: (number of the line, code, about what)
    first, last, head, covered, hashes, unsigned, findings = None, None, None, 0, {}, set(), []
    counted, from_start, segment, leaves, types = [0, 0], False, None, [], {}  # what the next head or seal has to say
    number, about, (*rows, rest) = 0, "", text.split(b"\n")
    def tell(*codes):
        findings.extend((number, code, about) for code in codes if code)
    for number, row in enumerate(rows + [rest] * (rest != b""), 1):
        try:
            line, about = strict_json(row), ""
            v, origin, seq, prev, at, kind = (line[name] for name in ("v", "origin", "seq", "prev", "at", "type"))
            about, is_head, adopts = f"{kind}, seq {seq}", kind in ("HEAD", "SEGMENT_SEALED"), kind == "ADOPTED"
            if [*map(type, (origin, kind, v, seq))] != [str, str, int, int] or not HASH.fullmatch(prev) or not AT.fullmatch(at):
                raise TypeError("the envelope")
            # The line stands where it says. Version 1 goes on as version 2 behind an ADOPTED line only.
            if last is None:
                first, start = line, prev == "0" * 64
                segment, from_start = 1 if start else None, start or v == 1 or adopts
                tell(start != (seq <= 1) and "journal_start_forged", not start and "journal_begins_later",
                     start and adopts and "journal_adoption_misplaced", v not in (1, 2) and "journal_version")
            else:
                tell(origin != last["origin"] and "journal_origin_changed", seq != last["seq"] + 1 and "journal_seq_broken",
                     prev != hashes[last["seq"]] and "journal_prev_mismatch", at < last["at"] and "journal_time_went_back",
                     v != last["v"] and not adopts and "journal_version",
                     adopts and (last["v"], v) != (1, 2) and "journal_adoption_misplaced")
            last, hashes[seq] = line, hashlib.sha256(b"\0" + row).hexdigest()
            # Its signature holds. An ADOPTED line accepts lines of version 1 without one, by their numbers.
            fault = capsule_fault(line, keys) if kind == "CAPSULE" else None
            fault = commitment_fault(line["record"], keys) if kind.startswith("IDP_COMMITMENT_") else fault
            if kind in SIGNED and (is_head or {"kid", "sig"} <= line.keys()):
                fault = event_fault(line, keys)
            elif kind in SIGNED:
                unsigned.add(seq)
            tell(fault, kind not in SIGNED | UNSIGNED and "journal_type_unknown")
            if adopts:
                tell((line["upto"], line["hash"]) != (seq - 1, prev) and "journal_adoption_mismatch",
                     unsigned - set(line["unsigned"]) and "event_unsigned")
                unsigned = set()
            # A head has one spelling, and counts the lines and capsules of version 2 before it.
            if kind == "HEAD" or is_head and v == 2:
                said = [line["lines"], line["capsules"]]
                counted = counted if from_start else [max(pair) for pair in zip(said, counted)]  # the first is believed
                tell(row != head_text(line).encode() and "head_spelled_otherwise", said != counted and "head_count_mismatch")
                head, covered, from_start = (head, covered, True) if fault else (line, number, True)
            elif v == 2:
                counted = [counted[0] + 1, counted[1] + (kind == "CAPSULE")]
            # A seal tells the number of its segment, and the size, root and types of the lines before it.
            if kind == "SEGMENT_SEALED":
                said = [line["segment"], line["size"], line["root"], line["head" if v == 1 else "hash"]]
                here = segment is not None or line["size"] <= len(leaves)
                tell(not here and "segment_not_whole",
                     here and said != [segment or said[0], len(leaves), merkle_root(leaves), prev] and "seal_mismatch",
                     here and v == 2 and line["counts"] != types and "seal_count_mismatch")
                segment, leaves, types = line["segment"] + 1, [], {}
            else:
                leaves.append(hashes[seq])
                types[kind] = types.get(kind, 0) + 1
        except (ValueError, RecursionError):
            tell("not_strict_json" if row.strip(b" \t\r") else "journal_line_empty")
        except (TypeError, KeyError, AttributeError):
            tell("journal_line_malformed")
    tell(not text and "not_strict_json", rest and "line_unterminated", unsigned and "event_unsigned", number > covered and (
         "journal_version_1" if last and last["v"] == 1 else "head_missing" if head is None else "lines_uncovered"))
    tell(*(given_faults(heads, first, last, hashes) if last and heads is not None else []))
    return head, findings

parser = argparse.ArgumentParser(description="Checks journals of capsule-gate; its first lines say what is checked.")
parser.add_argument("--keys", required=True, help="the keyring of the operator")
parser.add_argument("--head", help="a file with heads that were kept elsewhere")
parser.add_argument("--json", action="store_true", help="one JSON object per journal")
parser.add_argument("journals", nargs="+")
options, statuses = parser.parse_args(), set()
try:
    keys = {key["kid"]: key for key in strict_json(pathlib.Path(options.keys).read_bytes())["keys"]}
    heads = list(heads_in(pathlib.Path(options.head).read_text("utf-8"), keys)) if options.head else None
    for path in options.journals:
        head, findings = check_journal(sys.stdin.buffer.read() if path == "-" else pathlib.Path(path).read_bytes(), keys, heads)
        broken = [finding for finding in findings if finding[1] not in MISSING]
        statuses.add(status := "broken" if broken else "cannot_tell" if findings else "whole")
        shown = [{"line": number, "code": code, "detail": about} for number, code, about in broken or findings]
        if options.json:
            told = head and {name: head[name] for name in ("upto", "time")}
            print(json.dumps({"file": path, "status": status, "findings": shown, "head": told}))
        elif status == "whole":
            print("{}: whole up to head {upto} of {time}, {lines} lines, {capsules} capsules".format(path, **head))
        else:
            print(f"{path}: {status}: " + "; ".join("line {line}: {code} ({detail})".format(**each) for each in shown[:5]))
except (OSError, ValueError, TypeError, KeyError) as why:
    parser.error(str(why))
sys.exit(1 if "broken" in statuses else 3 if "cannot_tell" in statuses else 0)
