/** Sources run through swc as ESM; child processes in tests run the build that global-setup makes. */
export default {
  testEnvironment: 'node',
  // Not in the folder for temporary files, which is a new one for each run of scripts/test.mjs.
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
  globalSetup: '<rootDir>/test/support/global-setup.js',
  testTimeout: 60_000,
}
