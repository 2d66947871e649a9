"""compile-api: uploads, models, compile jobs, artifacts, deployments and profiles. The sole owner of the database.

A route is thin: it reads the request, makes one call, and answers. Below it, `repository` reads and writes rows, and
`orchestration` is the one place where the state of a task or job changes; `rlx_cluster.jobs` decides how.
"""
