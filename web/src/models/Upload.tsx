import { Button, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useNavigate } from "react-router";

import { type ModelVersion, send } from "../api/client";
import { DropFile } from "../parts/DropFile";
import { Failure } from "../parts/Failure";
import { bytes } from "../parts/words";

const isProgram = (file: File) => /\.rlxz?$/.test(file.name);

/** A program and the weights that it names, in one go. What does not hold together is shown with its caret. */
export function Upload() {
  const [files, setFiles] = useState<readonly File[]>([]);
  const [name, setName] = useState("");
  const client = useQueryClient();
  const navigate = useNavigate();
  const upload = useMutation({
    mutationFn: async () => {
      const form = new FormData();
      for (const file of files) form.append(isProgram(file) ? "model" : "weights", file);
      const path = `/v1/models/${encodeURIComponent(name)}/versions`;
      return (await (await send(path, { method: "POST", body: form })).json()) as ModelVersion;
    },
    onSuccess: async (version) => {
      await client.invalidateQueries({ queryKey: ["models"] });
      await client.invalidateQueries({ queryKey: ["versions", name] });
      await navigate(`/models/${version.model}/${version.version}`);
    },
  });
  const take = (given: File[]) => {
    const program = given.find(isProgram);
    if (program) setName((known) => known || program.name.replace(/\.rlxz?$/, ""));
    const fresh = new Set(given.map((file) => file.name));
    setFiles((known) => [
      ...known.filter((file) => !fresh.has(file.name) && !(program && isProgram(file))),
      ...given,
    ]);
    upload.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    upload.mutate();
  };
  return (
    <Stack component="form" onSubmit={submit}>
      <DropFile
        label="Choose files"
        says="Drop a .rlx and its .safetensors here, or one .rlxz."
        accept=".rlx,.rlxz,.safetensors,.npy,.npz"
        multiple
        onFiles={take}
      />
      {files.map((file) => (
        <Text key={file.name} size="sm" className="breaking">
          <span className="mono">{file.name}</span> {bytes(file.size)}
        </Text>
      ))}
      <TextInput
        label="Name of the model"
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
        required
      />
      {upload.error && <Failure error={upload.error} />}
      <Button type="submit" loading={upload.isPending} disabled={!files.some(isProgram) || !name}>
        Upload
      </Button>
    </Stack>
  );
}
