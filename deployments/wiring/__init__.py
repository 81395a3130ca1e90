"""Wire agents: hooks, the MCP server, and on request the proxy, in the agents' own files.

Everything but ours in those files stays byte for byte, and an undo takes everything of ours out.
"""

from deployments.wiring.setup import undo, wire, wirings

__all__ = ["undo", "wire", "wirings"]
