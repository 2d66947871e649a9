import { Button, Checkbox, Group, NativeSelect, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useNavigate } from "react-router";

import { answer, api, type ModelVersion } from "../api/client";
import { Failure } from "../parts/Failure";

const words = (text: string) => text.split(/[\s,]+/).filter(Boolean);

/** Targets, level, and a value for each symbolic dimension; then to the job. */
export function CompileForm({ version }: { version: ModelVersion }) {
  const [targets, setTargets] = useState("llvm, c");
  const [level, setLevel] = useState("3");
  const [strict, setStrict] = useState(false);
  const [dims, setDims] = useState<Readonly<Record<string, string>>>({});
  const navigate = useNavigate();
  const symbols = [
    ...new Set(version.inputs.flatMap((one) => one.shape.filter((dim) => /^[A-Za-z_]\w*$/.test(`${dim}`)))),
  ];
  const compile = useMutation({
    mutationFn: () => {
      const given = symbols.filter((name) => dims[name]).map((name) => [name, Number(dims[name])] as const);
      const options = {
        opt_level: Number(level),
        strict,
        fallback_to_ddr: false,
        dims: Object.fromEntries(given),
      };
      const body = { model: version.model, version: version.version, targets: words(targets), options };
      return answer(api.POST("/v1/compile", { body }));
    },
    onSuccess: (job) => navigate(`/jobs/${job.id}`),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    compile.mutate();
  };
  return (
    <form onSubmit={submit} aria-label="Compile">
      <Group align="end" gap="sm">
        <TextInput
          label="Targets"
          value={targets}
          onChange={(event) => setTargets(event.currentTarget.value)}
          required
          w={160}
        />
        <NativeSelect
          label="Level"
          value={level}
          onChange={(event) => setLevel(event.currentTarget.value)}
          data={["0", "1", "2", "3"]}
        />
        {symbols.map((name) => (
          <TextInput
            key={name}
            label={`Size of ${name}`}
            value={dims[`${name}`] ?? ""}
            onChange={(event) => setDims({ ...dims, [name]: event.currentTarget.value })}
            inputMode="numeric"
            pattern="[0-9]+"
            w={100}
          />
        ))}
        <Checkbox
          label="strict memory"
          checked={strict}
          onChange={(event) => setStrict(event.currentTarget.checked)}
          my={8}
        />
        <Button type="submit" loading={compile.isPending}>
          Compile
        </Button>
      </Group>
      {compile.error && <Failure error={compile.error} />}
    </form>
  );
}
