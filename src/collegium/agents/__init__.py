"""Agents: the act loop, policies, planner, populations and allocation."""

from collegium.agents.protocol import Decision, GuidanceSource, Policy, View

__all__ = ["Decision", "GuidanceSource", "Policy", "View"]
