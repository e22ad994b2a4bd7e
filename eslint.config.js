// The linter of the HTML report's script, and of its tests: what it computes needs no page.
import js from "@eslint/js";
import globals from "globals";

const asText = "data from outside is put into the page as text alone";

export default [
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "consistent-return": "error",
      eqeqeq: "error",
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write"].map((property) => ({ property, message: asText })),
      ],
      "no-shadow": "error",
      "no-var": "error",
      "prefer-const": "error",
      "prefer-template": "error",
    },
  },
  { files: ["src/**/computing.js"], languageOptions: { globals: { atob: "readonly" } } },
  { files: ["src/**/report.js"], languageOptions: { globals: globals.browser } },
  { files: ["tests/**"], languageOptions: { globals: globals.nodeBuiltin } },
];
