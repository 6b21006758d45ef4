/** Every page of a list, by its cursors. */
export async function pages<K extends string>(
  fetch: (
    page: { cursor: string } | undefined,
  ) => Promise<{ nextCursor?: string | undefined } & { [member in K]: unknown[] }>,
  member: K,
): Promise<readonly unknown[]> {
  const all: unknown[] = []
  let cursor: string | undefined
  do {
    const page = await fetch(cursor === undefined ? undefined : { cursor })
    all.push(...page[member])
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return all
}
