"""Reports of the benchmark: Markdown, CSV, JSON and one HTML page."""

from fan_dense.evaluation.report.command import ReportResult, report

__all__ = ['ReportResult', 'report']
