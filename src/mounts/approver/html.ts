/** Text that is markup already. Everything else that enters a page is escaped on its way in. */
export type Html = { readonly html: string }
type Part = Html | string | number | null | readonly Part[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escaped = (text: string): string => text.replace(/[&<>"']/g, (c) => ENTITIES[c] ?? c)

function part(value: Part): string {
  if (value === null) return ''
  if (typeof value === 'string') return escaped(value)
  if (typeof value === 'number') return String(value)
  return 'html' in value ? value.html : value.map(part).join('')
}

/** The one way to make markup: literals are ours, values are escaped. Attributes are always quoted. */
export const html = (literals: TemplateStringsArray, ...values: readonly Part[]): Html => ({
  html: literals.reduce((out, literal, index) => out + part(values[index - 1] ?? null) + literal),
})
