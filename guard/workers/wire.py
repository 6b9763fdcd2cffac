"""What the server and the helper process of the workers say to each other.

Server to zygote: a header (a letter, the number of the call, the length of what follows) and the name of a module.
`F`: fork a worker for the call, with the descriptor of its socket; `W`: prepare the module and say so; `K`: the call is
over, kill its worker. Zygote to server: the number of a call or a preparation, and how it ended.

Server to worker, over its socket: the length of the request, and the request as JSON. Worker to server: a sign that it
has begun, the length of the answer, and the answer as JSON.
"""

import struct

HEADER = struct.Struct("!cIH")
ENDING = struct.Struct("!Ii")
BEGUN = b"+"

NOT_FORKED = 1 << 16
"""Where the exit status would stand, if the system refused to fork."""
