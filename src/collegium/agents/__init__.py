"""Agents: the act loop, policies, planner, populations and allocation."""

from collegium.agents.protocol import Decision, GuidanceSource, HeldGuidance, Policy, View

__all__ = ["Decision", "GuidanceSource", "HeldGuidance", "Policy", "View"]
