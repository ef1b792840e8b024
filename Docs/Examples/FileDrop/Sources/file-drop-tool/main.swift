import FileDrop
import PluginsToolKit

await PluginsTool.main { FileDropPlugin.withRequirements }
