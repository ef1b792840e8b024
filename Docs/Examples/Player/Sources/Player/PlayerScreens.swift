#if canImport(SwiftUI)
    public import SwiftUI

    /// The screen of the phone.
    public struct PhonePlayerScreen: View {
        @Bindable private var player: PhonePlayer

        public init(_ player: PhonePlayer) { self.player = player }

        public var body: some View {
            List {
                Section("Next") { ForEach(player.queue) { Text($0.title) } }
                Slider(value: $player.volume)
                ForEach(player.complaints, id: \.self) { Text($0) }
            }
        }
    }

    /// The screen of the watch.
    public struct WatchPlayerScreen: View {
        private let player: WatchPlayer

        public init(_ player: WatchPlayer) { self.player = player }

        public var body: some View {
            VStack {
                Text(player.title)
                ProgressView(value: player.volume)
                Button("Louder") { player.turnCrown(by: 1) }
            }
        }
    }
#endif
