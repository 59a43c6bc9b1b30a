"""Which cluster, registry and Spark everything uses, named once: by flags, variables, or stoker.toml.

from stoker.settings.current import current_settings

current_settings().bootstrap_servers.text
"""
