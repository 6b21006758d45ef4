/** A terminal, or not, that keeps what is written to it. */
export function stream(isTTY: boolean): {
  isTTY: boolean
  write(text: string): boolean
  text: string
} {
  return {
    isTTY,
    text: '',
    write(text: string) {
      this.text += text
      return true
    },
  }
}
