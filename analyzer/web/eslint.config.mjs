// SPDX-License-Identifier: Apache-2.0
// What scripts/lint checks of the page beside its types (tsc): mistakes that types allow.
import tseslint from "typescript-eslint";

export default tseslint.config({
  files: ["src/**/*.ts"],
  extends: [tseslint.configs.base],
  languageOptions: { parserOptions: { projectService: true } },
  linterOptions: { reportUnusedDisableDirectives: "error" },
  rules: {
    "@typescript-eslint/no-floating-promises": "error",
    "@typescript-eslint/no-explicit-any": "error",
    "@typescript-eslint/no-unused-vars": "error",
    "@typescript-eslint/no-unnecessary-type-assertion": "error",
    "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    eqeqeq: "error",
    "max-len": ["error", 120],
    "no-constant-condition": "error",
    "no-fallthrough": "error",
    "no-loss-of-precision": "error",
    "no-self-assign": "error",
    "no-unreachable": "error",
    "no-unsafe-finally": "error",
    "no-var": "error",
    "prefer-const": "error",
  },
});
