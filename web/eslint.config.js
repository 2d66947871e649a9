import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["dist", "plain", "src/api/schema.d.ts", "test-results"] },
  js.configs.recommended,
  ...ts.configs.strict,
  a11y.flatConfigs.recommended,
  {
    plugins: { "react-hooks": hooks },
    files: ["src/**"],
    rules: {
      "react-hooks/rules-of-hooks": "error",
      "react-hooks/exhaustive-deps": "error",
      // What scrolls must be reachable from the keyboard.
      "jsx-a11y/no-noninteractive-tabindex": ["error", { roles: ["region", "log", "img"] }],
    },
  },
);
