/** What a governed call is judged by (DESIGN §10): a manifest with 5 constraints, and so many policies. */
export const OTHER_TOOLS = Array.from({ length: 99 }, (_, i) => `t${i + 1}`)

/** `matchOf` says where a tool is, `more` what else stands in each of them, `of` what in the measured one. */
export const manifestOf = (
  matchOf,
  more = '',
  of = { object: '', args: '', pay: '' },
) => `id: com.acme.bench
${of.object}tools:
  pay:
    match: ${matchOf('pay')}
    args: {${of.args}order: string, currency: string, amount: decimal, note: string}
${more === '' ? '' : `    ${more}\n`}${of.pay}    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      amount_floor: {amount: {gte: "0.01"}}
      known_currency: {currency: {in: [EUR, USD]}}
      order_form: {order: {matches: "[a-z]+-[0-9]+"}}
      order_known: {order: {not_in: ["bad-1"]}}
${OTHER_TOOLS.map(
  (tool) =>
    `  ${tool}: {match: ${matchOf(tool)}, args: {amount: decimal}${more === '' ? '' : `, ${more}`}}\n`,
).join('')}`

/** Ten policies on the measured tool in every set; the others are about the other tools. */
export const policySet = (count, decisions) =>
  Array.from({ length: count }, (_, i) => {
    if (i === 0) {
      return '@id("permit") permit (principal == Agent::"bot", action == Action::"pay", resource);'
    }
    if (i === 1 && decisions === 'asked') {
      return '@id("barred") forbid (principal, action == Action::"pay", resource) when { context.args.order == "barred-1" };'
    }
    const action = i < 10 ? 'pay' : OTHER_TOOLS[i % OTHER_TOOLS.length]
    return `@id("p${i}") forbid (principal, action == Action::"${action}", resource) when { context.args.amount.greaterThan(decimal("${1000 + i}.0")) };`
  }).join('\n')
