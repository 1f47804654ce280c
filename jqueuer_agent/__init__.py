"""The agent process: finds the containers of experiments on its node and runs jobs in them."""
