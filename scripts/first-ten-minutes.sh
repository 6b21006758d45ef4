#!/usr/bin/env bash
# A newcomer's first ten minutes, with the README alone: the demo, an API of one's own behind the gate with
# one new constraint and one new policy, and the records verified. Needs a build; leaves nothing behind.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT

step() { printf '\n== %s\n' "$1"; }
fail() { printf 'FAILED: %s\n' "$1" >&2; exit 1; }
# In a published package npx finds the command; here it is this clone's.
mkdir "$work/bin"
printf '#!/bin/sh\nshift\nexec node "%s/dist/cli/main.js" "$@"\n' "$repo" > "$work/bin/npx"
chmod +x "$work/bin/npx"
export PATH="$work/bin:$PATH" GATE_LISTENERS__DATA__PORT=0 GATE_LISTENERS__ADMIN__PORT=0
cd "$work"
await() { # file, pattern → first match
  for _ in $(seq 300); do
    grep -o -m1 -- "$2" "$1" 2>/dev/null && return
    sleep 0.1
  done
  cat "$1" >&2
  fail "$2 did not appear"
}
verdict() { # token, method, path, body
  curl -s -o answer -D head -X "$2" "$url$3" -H "Authorization: Bearer $1" -H 'Content-Type: application/json' ${4:+-d "$4"}
  tr -d '\r' < head | sed -n 's/^gate-verdict: //Ip'
}
expect() { # what, wanted, got
  printf '%-52s %s\n' "$1" "$3"
  [ "$2" = "$3" ] || fail "$1: expected $2, got $3: $(cat answer)"
}

step 'the demo'
npx capsule-gate demo --once

step 'an API of my own'
node -e '
  require("node:http").createServer((req, res) => {
    res.setHeader("content-type", "application/json")
    res.end(JSON.stringify({ path: req.url }))
  }).listen(0, "127.0.0.1", function () { console.log("port " + this.address().port) })
' > api.log &
pids+=($!)
port=$(await api.log 'port [0-9]*' | cut -d' ' -f2)
export GATE_UPSTREAM="http://127.0.0.1:$port"
npx capsule-gate init gate --upstream http://127.0.0.1:3000
cd gate
token=$(npx capsule-gate tokens create --name my-agent)
clerk=$(npx capsule-gate tokens create --name clerk)
person=$(npx capsule-gate tokens create --role approver --name me --group approver)
npx capsule-gate serve --config gate.yaml > serve.log 2> serve.err &
gate=$!
pids+=("$gate")
url=$(await serve.err 'agents connect to *http[^ ]*' | grep -o 'http.*')
expect 'my agent reads' executed "$(verdict "$token" GET /v1/items/7)"
expect 'my agent writes, a person is asked' hitl_dispatched "$(verdict "$token" POST /v1/items '{"name":"lamp","price":"20.00"}')"
expect 'another agent reads' denied "$(verdict "$clerk" GET /v1/items/7)"
grep -q '"code":"policy_denied"' answer || fail "not for want of a policy: $(cat answer)"

step 'I decide'
admin=$(await serve.err 'operators *http[^ ]*' | grep -o 'http.*')
curl -sf "$admin/v1/approvals" -H "Authorization: Bearer $person" > waiting
field() { grep -o "\"$1\":\"[^\"]*\"" waiting | head -n 1 | cut -d'"' -f4; }
curl -sf "$admin/v1/approvals/$(field approval_id)/decision" -H "Authorization: Bearer $person" \
  -H 'Content-Type: application/json' \
  -d "{\"decision\":\"approve\",\"digest\":\"$(field document_digest)\",\"reason\":\"looked at it\"}"
printf '\n'
expect 'the identical call, now approved' executed "$(verdict "$token" POST /v1/items '{"name":"lamp","price":"20.00"}')"

step 'one new constraint, one new policy'
sed -i 's/^      price_cap:.*/&\n      no_secrets: {name: {not_in: [secret]}}/' manifests/api.yaml
cat >> policies/api.cedar <<'CEDAR'
@id("clerk-reads")
permit (principal == Agent::"clerk", action == Action::"get_item", resource);
CEDAR
npx capsule-gate manifest check --config gate.yaml
# The gate reads changed files again by itself; both changes are in force once the clerk may read.
for _ in $(seq 100); do
  [ "$(verdict "$clerk" GET /v1/items/7)" = executed ] && break
  sleep 0.1
done
expect 'the clerk reads, as the new policy says' executed "$(verdict "$clerk" GET /v1/items/7)"
expect 'a name the new constraint forbids' blocked "$(verdict "$token" POST /v1/items '{"name":"secret","price":"20.00"}')"

step 'what was recorded'
kill -TERM "$gate"
wait "$gate"
npx capsule-gate verify data/journal/00000001.jsonl --keys data/keys/keyring.json

if [ -f "$repo/examples/middleware/run.mjs" ]; then
  step 'an Express app of my own'
  node "$repo/examples/middleware/run.mjs"
fi
printf '\nall of it worked\n'
