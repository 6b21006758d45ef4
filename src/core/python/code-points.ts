/** Order of code points, in which Python sorts texts. `<` of JavaScript compares code units: U+1F600 before U+E000. */
export function byCodePoint(a: string, b: string): number {
  for (let at = 0; ; ) {
    const [x, y] = [a.codePointAt(at), b.codePointAt(at)]
    if (x === undefined || y === undefined) return a.length - b.length
    if (x !== y) return x - y
    at += x > 0xffff ? 2 : 1
  }
}
