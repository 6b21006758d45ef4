import type { Command } from 'commander'
import { registerAccept } from './accept.js'
import { registerLs } from './ls.js'

/** Tools of MCP servers: how they are described, and whether that was accepted. */
export function register(program: Command): void {
  const tools = program.command('tools').description('tools of MCP servers, and how they changed')
  registerLs(tools)
  registerAccept(tools)
}
