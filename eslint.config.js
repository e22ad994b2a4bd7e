// The linter of the scripts of our pages, and of their tests: what they compute needs no page.
import js from "@eslint/js";
import globals from "globals";

// What the page computes is tested without one.
const off = (names) => Object.fromEntries(Object.keys(names).map((name) => [name, "off"]));

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
  { files: ["src/**"], languageOptions: { globals: globals.browser } },
  {
    files: ["src/**/computing.js", "src/**/texts.js"],
    languageOptions: { globals: { ...off(globals.browser), atob: "readonly", URLSearchParams: "readonly" } },
  },
  { files: ["tests/**"], languageOptions: { globals: globals.nodeBuiltin } },
];
