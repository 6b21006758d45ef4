/** Whether a name can stand in a path by itself: `.` and `..` have another meaning there. */
export const isPathName = (name: string): boolean => name !== '.' && name !== '..'
