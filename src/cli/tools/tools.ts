import type { Command } from 'commander'
import { registerAccept } from './accept.js'
import { registerImport } from './import.js'
import { registerLs } from './ls.js'

/** Tools of MCP servers: how they are described, whether that was accepted, and a draft of rules for them. */
export function register(program: Command): void {
  const tools = program.command('tools').description('tools of MCP servers, and how they changed')
  registerLs(tools)
  registerAccept(tools)
  registerImport(tools)
}
