"""Tools of the agents that profiles describe: what they are, their definitions in OpenAI's shape, and calls of them."""
