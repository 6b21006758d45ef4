/** So much at once, and then so much a second. The last that is taken may go beyond it, and is made up for. */
export function createBudget(burst: number, perSecond: number): { take(amount: number): boolean } {
  let left = burst
  let at = performance.now()
  return {
    take(amount) {
      const now = performance.now()
      left = Math.min(burst, left + ((now - at) * perSecond) / 1000)
      at = now
      if (left <= 0) return false
      left -= amount
      return true
    },
  }
}
