import { dirname, join } from 'node:path'
import { existsSync, mkdirSync, writeFileSync } from '../../adapters/disk/files.js'
import { UsageError } from '../output/print.js'
import type { ToolDraft } from './draft.js'
import { draftPolicies } from './policies.js'

type Project = {
  readonly upstream: string
  readonly agent: string
  readonly manifest: string
  readonly tools: readonly ToolDraft[]
}

export const writeProject = (dir: string, project: Project): readonly string[] =>
  writeFiles(dir, contents(project))

/** Every file or none: what is there already is overwritten only with `force`. */
export function writeFiles(
  dir: string,
  contents: Readonly<Record<string, string>>,
  { force = false, otherwise = 'name another folder' } = {},
): readonly string[] {
  const files = Object.entries(contents)
  const there = files.map(([name]) => name).filter((name) => existsSync(join(dir, name)))
  if (there.length > 0 && !force) {
    throw new UsageError(
      `${there.join(', ')} ${there.length === 1 ? 'is' : 'are'} in ${dir} already; nothing was written: ${otherwise}`,
    )
  }
  for (const [name, text] of files) {
    const path = join(dir, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { flag: force ? 'w' : 'wx' })
  }
  return files.map(([name]) => name)
}

const contents = (project: Project): Readonly<Record<string, string>> => ({
  'gate.yaml': gateYaml(project),
  'manifests/api.yaml': project.manifest,
  'policies/api.cedar': draftPolicies(project.tools, project.agent),
  '.env.example': ENV,
  '.gitignore': 'data/\ndata.head\n.env\n',
  'README.md': readme(project),
})

const gateYaml = ({ upstream, agent }: Project): string => `# Every key: capsule-gate config schema
upstream: ${upstream}
# What the gate shows the upstream; agents never have it. Uncomment both lines together with .env:
# credential: {header: Authorization, env: API_CREDENTIAL}

# ${agent}'s token is made by \`capsule-gate tokens create --name ${agent}\`. A token made elsewhere
# is known by its hash:
# agents: {${agent}: {token_sha256_env: AGENT_TOKEN_SHA256}}
`

const ENV = `# Copy to .env and load it before the gate: set -a; . ./.env; set +a
# API_CREDENTIAL="Bearer …"
# AGENT_TOKEN_SHA256=
`

const readme = ({ agent, upstream }: Project): string => `# A gate in front of ${upstream}

| file | what it says |
|---|---|
| gate.yaml | where the API is and how agents are known |
| manifests/api.yaml | which calls are which tool, their arguments and limits, and tests of these |
| policies/api.cedar | who may do what, and when a person is asked |

Check the manifest and run its tests: \`capsule-gate manifest check --config gate.yaml\`

Start: \`capsule-gate serve --config gate.yaml\`. Agents then call the gate instead of the API, with a token from
\`capsule-gate tokens create --name ${agent}\`.

Verify what was recorded: \`capsule-gate verify data/journal/00000001.jsonl --keys data/keys/keyring.json\`

Without a network rule that keeps agents from reaching the API directly, the gate is advice.
`
