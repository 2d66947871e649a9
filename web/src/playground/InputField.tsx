import { Button, Group, NativeSelect, Stack, Text, Textarea } from "@mantine/core";
import { useEffect, useState } from "react";

import type { TensorInfo } from "../api/client";
import { DropFile } from "../parts/DropFile";
import { shape } from "../parts/words";
import {
  asPicture,
  fromJson,
  fromPixels,
  type Given,
  pixelsOf,
  type Scaling,
  SCALINGS,
  zeros,
} from "./tensors";

/** One input: a picture where the model takes one, JSON otherwise or instead. */
export function InputField({
  input,
  onGiven,
}: {
  input: TensorInfo;
  onGiven: (tensor: Given | null) => void;
}) {
  const picture = asPicture(input);
  const [scaling, setScaling] = useState<Scaling>("0 … 1");
  const [file, setFile] = useState<File | null>(null);
  const [text, setText] = useState("");
  const [failure, setFailure] = useState("");

  const give = async (make: () => Given | Promise<Given>) => {
    try {
      onGiven(await make());
      setFailure("");
    } catch (error) {
      onGiven(null);
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  const show = (image: File, as: Scaling) => {
    setFile(image);
    setText("");
    if (picture) void give(async () => fromPixels(await pixelsOf(image, picture), picture, as));
  };
  const type = (json: string) => {
    setText(json);
    setFile(null);
    if (json.trim()) void give(() => fromJson(json, input));
    else onGiven(null);
  };
  const take = async ([first]: File[]) => {
    if (!first) return;
    if (first.type.startsWith("image/")) show(first, scaling);
    else type(await first.text());
  };
  return (
    <Stack gap="xs" role="group" aria-label={`Input ${input.name}`}>
      <Text size="sm" className="mono breaking">
        {input.name}: {input.dtype}
        {shape(input.shape)}
      </Text>
      <Group align="start">
        <div style={{ flex: "1 1 16rem" }}>
          <DropFile
            label={`Choose a file for ${input.name}`}
            says={picture ? "Drop an image or a JSON here." : "Drop a JSON here."}
            accept={picture ? "image/*,.json" : ".json"}
            onFiles={(files) => void take(files)}
          />
        </div>
        {file && <Preview file={file} />}
      </Group>
      {picture && (
        <NativeSelect
          label="Values of the pixels"
          value={scaling}
          onChange={(event) => {
            const chosen = event.currentTarget.value as Scaling;
            setScaling(chosen);
            if (file) show(file, chosen);
          }}
          data={Object.keys(SCALINGS)}
          maw={240}
        />
      )}
      <Textarea
        label="JSON"
        description="A list, nested or flat, or an object with shape and data"
        value={text.length > 20_000 ? `${text.slice(0, 200)} … ${text.length} characters` : text}
        readOnly={text.length > 20_000}
        onChange={(event) => type(event.currentTarget.value)}
        autosize
        minRows={2}
        maxRows={8}
        error={failure}
        classNames={{ input: "mono" }}
      />
      <Group>
        <Button variant="default" size="xs" onClick={() => type(zeros(input))}>
          Fill with zeros
        </Button>
        <Button variant="default" size="xs" onClick={() => type("")}>
          Clear
        </Button>
      </Group>
    </Stack>
  );
}

function Preview({ file }: { file: File }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  return (
    url && <img src={url} alt={file.name} style={{ maxHeight: "8rem", maxWidth: "100%", borderRadius: 8 }} />
  );
}
