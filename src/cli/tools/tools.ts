import type { Command } from 'commander'
import { registerImport } from './import.js'

export function register(program: Command): void {
  const tools = program.command('tools').description("an MCP server's tools")
  registerImport(tools)
}
