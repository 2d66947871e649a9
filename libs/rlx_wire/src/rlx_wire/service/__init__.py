"""What every service of RLX shares towards the outside: settings, keys, request ids, logs and problem+json.

Only services need this (`rlx-wire[service]`): the schemas beside it import nothing of it.
"""
