import { Button, Paper, PasswordInput, Text, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";

import { answer, api, ApiProblem } from "../api/client";

/** A key for a cookie that scripts cannot read: an EventSource sends no headers. */
export function SignIn() {
  const [key, setKey] = useState("");
  const client = useQueryClient();
  const enter = useMutation({
    mutationFn: () => answer(api.POST("/v1/session", { body: { key } })),
    onSuccess: () => client.resetQueries(),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    enter.mutate();
  };
  const wrong = enter.error instanceof ApiProblem && enter.error.signedOut;
  return (
    <Paper withBorder p="lg" maw={420} component="form" onSubmit={submit}>
      <Title order={1} size="h3">
        This server asks for a key
      </Title>
      <Text size="sm" c="dimmed" my="xs">
        It is exchanged for a cookie and kept nowhere else.
      </Text>
      <PasswordInput
        label="API key"
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
        autoComplete="current-password"
        required
        error={enter.error && (wrong ? "The server does not know this key." : enter.error.message)}
      />
      <Button type="submit" mt="md" loading={enter.isPending}>
        Continue
      </Button>
    </Paper>
  );
}
