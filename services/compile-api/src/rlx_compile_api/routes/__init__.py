"""The routes, one module a subject: each reads its request, makes one call, and answers."""
