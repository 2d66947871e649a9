import { Button, Text } from "@mantine/core";
import { type DragEvent, useId, useRef, useState } from "react";

/** A place to drop files on, and the same as a button for those who use the keyboard. */
export function DropFile(props: {
  label: string;
  says: string;
  accept: string;
  multiple?: boolean;
  onFiles: (files: File[]) => void;
}) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const dropped = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    props.onFiles([...event.dataTransfer.files]);
  };
  return (
    <div
      className={over ? "drop over" : "drop"}
      role="group"
      aria-labelledby={id}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={dropped}
    >
      <Text size="sm" id={id} mb="xs">
        {props.says}
      </Text>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={props.label}
        accept={props.accept}
        multiple={props.multiple}
        onChange={(event) => {
          props.onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      <Button variant="default" size="xs" onClick={() => input.current?.click()}>
        {props.label}
      </Button>
    </div>
  );
}
